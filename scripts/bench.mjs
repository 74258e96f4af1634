// npm run bench -- NAME [options]: bench/NAME.mjs in Node where there is one (web_scan.mjs for
// web-scan), else the native command's `bench NAME`. Both take --json and --output FILE.
import { existsSync } from 'node:fs';
import { buildNative, buildTypes, buildWasm } from './build.mjs';
import { Refusal, inRoot, run, runMain } from './lib/process.mjs';
import { setUp } from './setup.mjs';

await runMain(async () => {
  const [name, ...options] = process.argv.slice(2);
  if (name === undefined || !/^[a-z][a-z-]*$/.test(name)) {
    throw new Refusal(
      'usage: npm run bench -- NAME [options]; see bench/*.mjs and vicinal bench --help for names');
  }
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
