// npm start: sets up, builds what the package needs, and runs the main job.
import { buildTypes, buildWasm } from './build.mjs';
import { inRoot, run, runMain } from './lib/process.mjs';
import { setUp } from './setup.mjs';

await runMain(async () => {
  await setUp();
  await buildWasm();
  await buildTypes();
  const job = inRoot('web', 'demo', 'main-job.mjs');
  process.exitCode = await run(process.execPath, [job, ...process.argv.slice(2)]);
});
