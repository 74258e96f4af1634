// node bench/data/fetch_peers.mjs: the libraries that npm run bench -- web measures beside ours.
//
// npm packs them from its registry into build/peers, they are checked against pinned hashes and
// unpacked there. Nothing of this package depends on them.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { isMain, Refusal, capture, inRoot, runMain, say } from '../../scripts/lib/process.mjs';

const FOLDER = inRoot('build', 'peers');

const PEERS = [
  { name: 'hnswlib-wasm', version: '0.8.2', integrity: 'sha512-qEgKETj4rMOYRA1esP0bxVosw9Wrz5S/'
    + 'HvjI2FBWOXG5rf5/Es4OoEWGVvztFihDNU5if61l6QGhW5ILtt+PqA==' },
  { name: 'edgevec', version: '0.9.0', integrity: 'sha512-Pwc4QcLUpvdWwG3hOoWhA99Co3adALQxSc8wrYEY'
    + 'NJoax5uy1Mx9dvT8kH2HPWToBXmV6YxaGYPUVM+uGF7v7w==' },
  { name: 'voy-search', version: '0.6.3', integrity: 'sha512-GRwrXcT3Qmzr/CuwpwX55XWpgqM2hUqLipSwI'
    + '8bGcfsDTJGa+mFxsOXzWHNMRpcYd+U2RP73f2USLDWQu5yFdQ==' },
];

function fetchPeer({ name, version, integrity }) {
  const file = path.join(FOLDER, `${name}-${version}.tgz`);
  if (!existsSync(file)) {
    console.error(`fetch: npm pack ${name}@${version}`);  // standard output may be JSON
    const { code, output } = capture('npm',
      ['pack', '--silent', '--pack-destination', FOLDER, `${name}@${version}`]);
    if (code !== 0) throw new Refusal(`fetch: npm pack failed (${code}): ${output.trim()}`);
  }
  const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (found !== integrity) {
    throw new Refusal(`fetch: ${file} is not what was pinned: ${found}; remove it and try again`);
  }
  const folder = path.join(FOLDER, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const { code, output } = capture('tar',
    ['--extract', '--gzip', '--file', file, '--directory', folder, '--strip-components=1']);
  if (code !== 0) throw new Refusal(`fetch: tar failed: ${output.trim()}`);
}

/** Fetches those of `names` that are missing. @returns { name: reason } of what cannot be had. */
export function fetchPeers(names) {
  mkdirSync(FOLDER, { recursive: true });
  const missing = {};
  for (const peer of PEERS.filter(({ name }) => names.includes(name))) {
    try {
      fetchPeer(peer);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      missing[peer.name] = error.message;
    }
  }
  return missing;
}

async function main() {
  const reasons = Object.values(fetchPeers(PEERS.map(({ name }) => name)));
  if (reasons.length > 0) throw new Refusal(reasons.join('\n'));
  say(`fetch: ${PEERS.length} packages in ${FOLDER}`);
}

if (isMain(import.meta.url)) await runMain(main);
