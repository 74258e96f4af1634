// npm run bench -- web [--runtime node,chromium] [--variants ours,plain-js,hnswlib-wasm,...]
//   [--parts alone,beside,...] [--workers 1,2] [--seconds S] [--build-seconds S] [--n N]
//   [--dim D] [--bits B] [--seed S] [--data FILE --queries FILE] [--json] [--output FILE]
//
// Searches in JavaScript, k = 10, one at a time. Four parts in each runtime:
//   alone    on the main thread, nobody writing, beside other libraries and a plain loop
//   beside   on the main thread while a worker writes: not at all, 4,000 rows a second, flat out
//   workers  in workers that share the index, the writer off and flat out
//   frames   one search in each frame of the main thread, a worker writing; the other libraries add
//            their 67 rows a frame there themselves, as they have no other thread that could
// In Node a frame is a timer of 16 ms. The others are fetched by npm (bench/data/fetch_peers.mjs).
import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { fetchPeers } from './data/fetch_peers.mjs';
import { commandLine } from './support/command_line.mjs';
import { dataset } from './support/dataset.mjs';
import { environment } from './support/environment.mjs';
import { rounded } from './support/percentiles.mjs';
import { openRuntime } from './support/runtimes.mjs';

const RUN = 'bench/support/web_run.mjs';
const PARTS = {
  alone: ['measureAlone', () => ({})],
  beside: ['measureBeside', () => ({ writers: ['off', 'paced', 'flat'] })],
  workers: ['measureWorkers', ({ workers }) => ({ writers: ['off', 'flat'], workers })],
  frames: ['measureFrames', () => ({ writers: ['off', 'paced', 'flat'] })],
  'peer-frames': ['measurePeerFrames', () => ({})],
};

function line({ runtime, part, variant, workers, writer, error, ...row }) {
  const head = `${runtime.padEnd(8)} ${part.padEnd(7)} ${variant.padEnd(12)}`;
  if (error !== undefined) return `${head} cannot: ${error}`;
  const settings = row.settings === undefined ? '' : ` (${row.settings})`;
  const where = part === 'alone' ? '' : ` ${workers} workers, writer ${writer}:`;
  if (row.frames !== undefined) {
    return `${head}${where} ${row.frames} frames, ${row.long_frames} tasks over 16 ms, `
      + `longest ${row.longest_task_ms} ms, ${row.late_frames} frames late, `
      + `longest ${row.longest_frame_ms} ms, ${row.rows_written_per_s} rows/s`;
  }
  const recall = row.recall === undefined ? ''
    : `, recall ${row.recall}, built in ${row.build_s} s`;
  const wrote = row.rows_written_per_s > 0 ? `, ${row.rows_written_per_s} rows/s written` : '';
  return `${head}${settings}${where} p50 ${row.p50_us} us, p99 ${row.p99_us} us, `
    + `${row.searches_per_s} searches/s${recall}${wrote}`;
}

async function measure(runtime, { data, missing, options }, report) {
  const { base, queries, dim, name } = data;
  const { version, call, close } = await openRuntime(runtime, RUN, { base, queries });
  try {
    for (const part of options.parts) {
      const [wanted, more] = PARTS[part];
      const found = await call(wanted, { dim, ...options, ...more(options) });
      for (const row of found) {
        const { variant } = row;
        report({ runtime, version, part: part === 'peer-frames' ? 'frames' : part, variant,
          backend: variant === 'plain-js' ? 'js' : 'wasm', data: name, n: base.length / dim, dim,
          ...(variant === 'ours' ? { bits: options.bits } : {}),
          ...(part === 'alone' ? { workers: 0, writer: 'off' } : {}),
          ...rounded(row), ...(missing[variant] ? { error: missing[variant] } : {}) });
      }
    }
  } finally {
    await close();
  }
}

const values = commandLine(import.meta.url, {
  runtime: { type: 'string', default: 'node,chromium' },
  parts: { type: 'string', default: Object.keys(PARTS).join(',') },
  variants: { type: 'string', default: 'ours,plain-js,hnswlib-wasm,edgevec,voy-search' },
  workers: { type: 'string', default: '1,2' },
  seconds: { type: 'string', default: '2' },
  'build-seconds': { type: 'string', default: '20' },
  n: { type: 'string', default: '5000' },
  dim: { type: 'string', default: '384' },
  bits: { type: 'string', default: '4' },
  seed: { type: 'string', default: '1' },
  data: { type: 'string' },
  queries: { type: 'string' },
  json: { type: 'boolean', default: false },
  output: { type: 'string' },
}, {
  numbers: ['workers', 'seconds', 'build-seconds', 'n', 'dim', 'bits', 'seed'],
  choices: {
    runtime: ['node', 'chromium'], parts: Object.keys(PARTS),
    variants: ['ours', 'plain-js', 'hnswlib-wasm', 'edgevec', 'voy-search'],
  },
});
const [n, dim, bits, seed, seconds, buildSeconds] =
  ['n', 'dim', 'bits', 'seed', 'seconds', 'build-seconds'].map((name) => Number(values[name]));
const options = {
  bits, seconds, buildMs: buildSeconds * 1000, parts: values.parts.split(','),
  variants: values.variants.split(','), workers: values.workers.split(',').map(Number),
};
const missing = fetchPeers(options.variants);
const data = await dataset({ data: values.data, queries: values.queries, n, dim, seed });
const rows = [];
const loadBefore = loadavg()[0];  // a run beside other work is worth little: it shows here
for (const runtime of values.runtime.split(',')) {
  await measure(runtime, { data, missing, options }, (row) => {
    rows.push(row);
    if (!values.json) console.log(line(row));
  });
}
const command = `npm run bench -- web ${process.argv.slice(2)
  .filter((arg, i, all) => arg !== '--output' && all[i - 1] !== '--output').join(' ')}`.trim();
const env = { ...environment(command, values.data === undefined ? seed : 0),
  load_before: loadBefore, load_after: loadavg()[0] };
const report = { bench: 'web', env, rows };
if (values.json) console.log(JSON.stringify(report));
if (values.output !== undefined) {
  await writeFile(values.output, `${JSON.stringify(report, null, 1)}\n`);
}
