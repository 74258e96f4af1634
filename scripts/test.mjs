// npm test [-- STAGE ...]: sets up, builds, runs every stage, and ends with `N passed, N failed`.
//
// --full (npm run test:full) sets VICINAL_TEST_SCALE=20: randomised tests run that many times
// longer.
import { mkdirSync, rmSync } from 'node:fs';
import {
  buildNative, buildPreset, buildTypes, buildWasm, buildWasmTests,
} from './build.mjs';
import { runModels } from './lib/models.mjs';
import { Refusal, capture, inRoot, run, runMain, say } from './lib/process.mjs';
import { countJunit, countStage, countVitest } from './lib/results.mjs';
import { setUp } from './setup.mjs';

const FULL_SCALE = '20';
const TEST_TIMEOUT_S = 300;
const SANITIZER_ENV = {
  ASAN_OPTIONS: 'detect_stack_use_after_return=1:allocator_may_return_null=1',
  UBSAN_OPTIONS: 'print_stacktrace=1',
  TSAN_OPTIONS: 'halt_on_error=1:second_deadlock_stack=1',
};

function reportFile(name) {
  const file = inRoot('build', 'reports', name);
  mkdirSync(inRoot('build', 'reports'), { recursive: true });
  rmSync(file, { force: true });
  return file;
}

async function ctest(directory, { label = '.', launcher = [] } = {}) {
  const report = reportFile(`${directory}.xml`);
  const timeout_s = TEST_TIMEOUT_S * Number(process.env.VICINAL_TEST_SCALE);
  const [command, ...args] = [...launcher, 'ctest', '--test-dir', inRoot('build', directory),
    '-j', '2', '--timeout', String(timeout_s), '-L', label, '--output-on-failure',
    '--output-junit', report];
  const code = await run(command, args, { env: SANITIZER_ENV });
  return countStage(report, countJunit, code);
}

// ThreadSanitizer of GCC 12 cannot place its shadow memory under every address randomisation.
function withoutRandomAddresses() {
  return capture('setarch', ['-R', 'true']).code === 0 ? ['setarch', '-R'] : [];
}

async function vitest(project) {
  const report = reportFile(`${project}.json`);
  const code = await run(process.execPath, [inRoot('node_modules', 'vitest', 'vitest.mjs'), 'run',
    '--project', project, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]);
  return countStage(report, countVitest, code);
}

const STAGES = {
  tidy: { needs: ['native'], run: () => vitest('tidy') },
  native: { needs: ['native'], run: () => ctest('native') },
  cli: { needs: ['native'], run: () => vitest('cli') },
  node: { needs: ['native', 'package'], run: () => vitest('node') },
  chromium: { needs: ['package'], run: () => vitest('chromium') },
  package: { needs: ['native', 'package'], run: () => vitest('package') },
  model: { needs: [], run: runModels },
  asan: { needs: ['asan'], run: () => ctest('asan') },
  fuzz: { needs: ['fuzz'], run: () => ctest('fuzz') },
  aarch64: { needs: ['aarch64'], run: () => ctest('aarch64') },
  tsan: {
    needs: ['tsan'],
    run: () => ctest('tsan', { label: 'threads', launcher: withoutRandomAddresses() }),
  },
};

const BUILDS = {
  native: buildNative,
  package: async () => { await buildWasm(); await buildWasmTests(); await buildTypes(); },
  asan: () => buildPreset('asan'),
  fuzz: () => buildPreset('fuzz'),
  aarch64: () => buildPreset('aarch64'),
  tsan: () => buildPreset('tsan'),
};

/** Runs one stage. A build that fails is one failure of every stage that needs it. */
async function runStage(name, built) {
  say(`\n== ${name}`);
  for (const need of STAGES[name].needs) {
    if (!built.has(need)) {
      built.set(need, BUILDS[need]().then(() => undefined, (error) => error));
    }
    const error = await built.get(need);
    if (error !== undefined) {
      console.error(`${need} build: ${error.message}`);
      return { passed: 0, failed: 1, skipped: 0 };
    }
  }
  return STAGES[name].run();
}

async function runStages(names) {
  const built = new Map();
  const lines = [];
  const total = { passed: 0, failed: 0 };
  for (const name of names) {
    const started_ms = performance.now();
    const { passed, failed, skipped } = await runStage(name, built);
    const seconds = ((performance.now() - started_ms) / 1000).toFixed(0);
    const skips = skipped > 0 ? `, ${skipped} skipped` : '';
    lines.push(`${name.padEnd(9)} ${passed} passed, ${failed} failed${skips} (${seconds} s)`);
    say(lines.at(-1));
    total.passed += passed;
    total.failed += failed;
  }
  say(`\n${lines.join('\n')}`);
  return total;
}

await runMain(async () => {
  const args = process.argv.slice(2);
  const names = args.filter((arg) => arg !== '--full');
  const unknown = names.filter((name) => !Object.hasOwn(STAGES, name));
  if (unknown.length > 0) {
    throw new Refusal(`test: no such stage: ${unknown}; known: ${Object.keys(STAGES)}`);
  }
  process.env.VICINAL_TEST_SCALE ??= args.includes('--full') ? FULL_SCALE : '1';
  let total = { passed: 0, failed: 1 };
  try {
    await setUp();
    total = await runStages(names.length > 0 ? names : Object.keys(STAGES));
  } finally {
    say(`${total.passed} passed, ${total.failed} failed`);
    if (total.failed > 0) process.exitCode = 1;
  }
});
