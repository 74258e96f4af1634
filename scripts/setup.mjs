// Makes a fresh clone ready: Debian packages from scripts/packages.txt, npm packages from the lock
// file. Does nothing, offline, when nothing is missing. Imports nothing that it would have to
// install.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Refusal, capture, inRoot, isMain, mustRun, run, runMain, say } from './lib/process.mjs';

const PACKAGES = 'scripts/packages.txt';
const NODE_MAJOR_MIN = 20;

/** @returns [{ name, exact, version }] from the text of packages.txt. */
export function parsePackages(text) {
  const packages = [];
  for (const line of text.split('\n')) {
    const content = line.replace(/#.*/, '').trim();
    if (content === '') continue;
    const match = /^(\S+)\s+(=|>=)(\d+(?:\.\d+)*)$/.exec(content);
    if (!match) throw new Refusal(`${PACKAGES}: cannot read the line: ${line}`);
    packages.push({ name: match[1], exact: match[2] === '=', version: match[3] });
  }
  return packages;
}

/** Whether an installed Debian version ("1:3.1.6~dfsg-5") meets a pin. */
export function versionFits(installed, { exact, version }) {
  const have = (/^(?:\d+:)?(\d+(?:\.\d+)*)/.exec(installed)?.[1] ?? '').split('.').map(Number);
  const want = version.split('.').map(Number);
  for (let i = 0; i < want.length; i += 1) {
    const difference = (have[i] ?? 0) - want[i];
    if (difference !== 0) return !exact && difference > 0;
  }
  return true;
}

function installedVersions(names) {
  const { code, output } = capture('dpkg-query',
    ['-W', '-f', '${binary:Package}\t${Version}\t${db:Status-Status}\n', ...names]);
  if (code === 127) {
    throw new Refusal(`set-up: no dpkg here: install by hand what ${PACKAGES} lists`);
  }
  const versions = new Map();
  for (const line of output.split('\n')) {
    const [name, version, status] = line.split('\t');
    if (status === 'installed') versions.set(name.split(':')[0], version);
  }
  return versions;
}

function unmet(packages) {
  const versions = installedVersions(packages.map(({ name }) => name));
  const missing = packages.filter(({ name }) => !versions.has(name)).map(({ name }) => name);
  const wrong = packages
    .filter((pin) => versions.has(pin.name) && !versionFits(versions.get(pin.name), pin))
    .map(({ name, exact, version }) => `${name}: ${versions.get(name)} is installed, `
      + `${exact ? '' : 'at least '}${version} is needed`);
  return { missing, wrong };
}

/** @returns the words in front of apt-get: none as root, else sudo's; undefined without either. */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  return capture('sudo', ['-n', 'true']).code === 0 ? ['sudo', '-n'] : undefined;
}

async function installDebianPackages(missing) {
  const byHand = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  const prefix = rootPrefix();
  if (prefix === undefined) {
    throw new Refusal(`set-up: missing ${missing.join(', ')}; run as root: ${byHand}`);
  }
  say(`set-up: installing Debian packages: ${missing.join(' ')}`);
  const [program, ...words] = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get',
    '-qq', '-o', 'DPkg::Lock::Timeout=600'];
  const install = [...words, 'install', '-y', '--no-install-recommends', ...missing];
  if (await run(program, install) === 0) return;
  say('set-up: refreshing the package lists');
  await run(program, [...words, 'update']);
  if (await run(program, install) !== 0) {
    throw new Refusal(`set-up: could not install ${missing.join(', ')}; try: ${byHand}`);
  }
}

async function setUpDebian() {
  const packages = parsePackages(readFileSync(inRoot(PACKAGES), 'utf8'));
  const before = unmet(packages);
  if (before.missing.length > 0) await installDebianPackages(before.missing);
  const after = before.missing.length > 0 ? unmet(packages) : before;
  if (after.missing.length > 0) {
    throw new Refusal(`set-up: still missing: ${after.missing.join(', ')}`);
  }
  if (after.wrong.length > 0) throw new Refusal(`set-up: ${after.wrong.join('; ')}`);
  say(`set-up: Debian packages: ${packages.length} of ${packages.length} present`);
}

async function setUpNpm() {
  const stamp = inRoot('build', 'setup', 'npm.stamp');
  const hash = createHash('sha256')
    .update(readFileSync(inRoot('package-lock.json')))
    .update(process.version)
    .digest('hex');
  const installed = existsSync(inRoot('node_modules', '.package-lock.json'))
    && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash;
  if (!installed) {
    say('set-up: installing npm packages from package-lock.json');
    await mustRun('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
    mkdirSync(inRoot('build', 'setup'), { recursive: true });
    writeFileSync(stamp, hash);
  }
  say(`set-up: npm packages: ${installed ? 'unchanged' : 'installed'}`);
}

/** Everything that start, build and test need before they do anything else. */
export async function setUp() {
  if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR_MIN) {
    throw new Refusal(`set-up: Node.js ${process.version}: at least ${NODE_MAJOR_MIN} is needed`);
  }
  await setUpDebian();
  await setUpNpm();
}

if (isMain(import.meta.url)) await runMain(setUp);
