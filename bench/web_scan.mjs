// npm run bench -- web-scan [--runtime node,chromium] [--variants auto,wasm,relaxed,scalar,plain]
//   [--n N] [--dim D] [--bits B] [--seed S] [--json] [--output FILE]
//
// A search in WebAssembly, k = 10, in one thread: our builds and a plain loop over a Float32Array,
// one after the other in short slices; then how many rows a second `add` takes in. `auto` is what a
// user gets who asks for nothing.
import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { commandLine } from './support/command_line.mjs';
import { environment } from './support/environment.mjs';
import { rounded } from './support/percentiles.mjs';
import { openRuntime } from './support/runtimes.mjs';

const RUN = 'bench/support/web_scan_run.mjs';
const ADD_DIMS = [128, 768, 1536];
/** Coordinates of one round of adding. */
const ADD_COORDINATES = 4 << 20;

async function measure(runtime, { n, dim, bits, seed, variants }, report) {
  const { version, call, close } = await openRuntime(runtime, RUN);
  const data = 'mixture';
  try {
    for (const row of await call('measureScan', { n, dim, bits, seed, variants })) {
      report({ runtime, version, op: 'search', data, n, dim, bits, ...rounded(row) });
    }
    const builds = variants.filter((name) => name !== 'plain');
    for (const addDim of ADD_DIMS) {
      const rows = Math.floor(ADD_COORDINATES / addDim);
      const found = await call('measureAdd', { dim: addDim, bits, rows, seed, variants: builds });
      for (const row of found) {
        report({ runtime, version, op: 'add', data, n: rows, dim: addDim, bits, ...rounded(row) });
      }
    }
  } finally {
    await close();
  }
}

function line({ runtime, op, dim, variant, kernel, ...row }) {
  const head = `${runtime.padEnd(8)} ${op.padEnd(6)} ${variant.padEnd(8)} dim ${dim}: `;
  if (op === 'add') return `${head}${row.rows_per_s} rows/s`;
  return `${head}p50 ${row.p50_us} us, p99 ${row.p99_us} us, recall ${row.recall} (${kernel})`;
}

const values = commandLine(import.meta.url, {
  runtime: { type: 'string', default: 'node,chromium' },
  variants: { type: 'string', default: 'auto,wasm,relaxed,scalar,plain' },
  n: { type: 'string', default: '100000' },
  dim: { type: 'string', default: '384' },
  bits: { type: 'string', default: '4' },
  seed: { type: 'string', default: '1' },
  json: { type: 'boolean', default: false },
  output: { type: 'string' },
}, {
  numbers: ['n', 'dim', 'bits', 'seed'],
  choices: {
    runtime: ['node', 'chromium'], variants: ['auto', 'wasm', 'relaxed', 'scalar', 'plain'],
  },
});
const numbers = Object.fromEntries(['n', 'dim', 'bits', 'seed']
  .map((name) => [name, Number(values[name])]));
const rows = [];
const loadBefore = loadavg()[0];  // a run beside other work is worth little: it shows here
for (const runtime of values.runtime.split(',')) {
  await measure(runtime, { ...numbers, variants: values.variants.split(',') }, (row) => {
    rows.push(row);
    if (!values.json) console.log(line(row));
  });
}
const command = `npm run bench -- web-scan ${process.argv.slice(2)
  .filter((arg, i, all) => arg !== '--output' && all[i - 1] !== '--output').join(' ')}`.trim();
const env = { ...environment(command, numbers.seed), load_before: loadBefore,
  load_after: loadavg()[0] };
if (values.json) console.log(JSON.stringify({ bench: 'web-scan', env, rows }));
if (values.output !== undefined) {
  await writeFile(values.output, `${JSON.stringify({ bench: 'web-scan', env, rows }, null, 1)}\n`);
}
