// npm run bench -- NAME [options]: bench/NAME.mjs in Node where there is one (web_scan.mjs for
// web-scan), else the native command's `bench NAME`. Both take --json and --output FILE.
import { existsSync, readdirSync } from 'node:fs';
import { buildNative, buildTypes, buildWasm } from './build.mjs';
import { Refusal, inRoot, run, runMain } from './lib/process.mjs';
import { setUp } from './setup.mjs';

/** Every benchmark there is, from the names of their files. */
function names() {
  const native = readdirSync(inRoot('native', 'bench'))
    .map((file) => /^bench_(.*)\.cpp$/.exec(file)?.[1]);
  const scripts = readdirSync(inRoot('bench')).map((file) => /^(.*)\.mjs$/.exec(file)?.[1]);
  return [...native, ...scripts].filter(Boolean).map((name) => name.replaceAll('_', '-')).sort();
}

await runMain(async () => {
  const [name, ...options] = process.argv.slice(2);
  const usage = 'usage: npm run bench -- NAME [options]; NAME --help tells its options.\n'
    + `Names: ${names().join(', ')}`;
  if (name === '--help' || name === '-h') return console.log(usage);
  if (name === undefined) throw new Refusal(usage);
  if (!names().includes(name)) throw new Refusal(`there is no benchmark ${name}\n${usage}`);
  await setUp();
  await buildNative();
  const script = inRoot('bench', `${name.replaceAll('-', '_')}.mjs`);
  if (existsSync(script)) {
    await buildWasm();
    await buildTypes();
    process.exitCode = await run(process.execPath, [script, ...options]);
  } else {
    process.exitCode = await run(inRoot('build', 'native', 'vicinal'), ['bench', name, ...options]);
  }
});
