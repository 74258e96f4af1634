// npm run bench -- recall [--data PREFIX ...] [--bits 1,2,3,4,8] [--calibrate]
//                         [--originals float16|float32] [--json] [--output FILE]
//
// Recall@10 of the default search against the exact truth, and bytes a row, of real embeddings.
// PREFIX names PREFIX.base.f16vecs, PREFIX.query.f16vecs and PREFIX.gt100.ivecs; without it, the
// demo's words. With originals every row comes twice: by codes, and ranked by exact scores.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandLine } from './support/command_line.mjs';
import { environment } from './support/environment.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const COMMAND = path.join(ROOT, 'build', 'native', 'vicinal');
const DEMO = path.join(ROOT, 'web', 'demo', 'data', 'glove100-20k');
const K = '10';

/** One object from the command line tool. */
function vicinal(...args) {
  const { status, stdout, error } = spawnSync(COMMAND, [...args, '--json'],
    { encoding: 'utf8', maxBuffer: 1 << 30 });
  if (error) throw error;
  const result = JSON.parse(stdout);
  if (status !== 0) throw new Error(`vicinal ${args[0]}: ${result.error?.message ?? status}`);
  return result;
}

function measure(prefix, bits, { calibrate, originals }, folder) {
  const index = path.join(folder, 'index.vic');
  const queries = `${prefix}.query.f16vecs`;
  const built = vicinal('build', '--input', `${prefix}.base.f16vecs`, '--output', index,
    '--bits', String(bits), ...(calibrate ? ['--calibrate'] : []), '--originals', originals);
  const { bytes_per_row: bytesPerRow, kernel } = vicinal('info', '--index', index);
  const reranks = originals === 'none' ? [0] : [0, 4 * Number(K)];
  return reranks.map((rerank) => {
    const how = ['--index', index, '--queries', queries, '-k', K, '--rerank', String(rerank)];
    const { recall } = vicinal('recall', ...how, '--truth', `${prefix}.gt100.ivecs`);
    const { p50_us: p50, p99_us: p99 } = vicinal('search', ...how);
    return { data: path.basename(prefix), n: built.rows, dim: built.dim, bits, recall,
      calibrated: calibrate, originals, rerank, bytes_per_row: bytesPerRow, p50_us: p50,
      p99_us: p99, kernel };
  });
}

const values = commandLine(import.meta.url, {
  data: { type: 'string', multiple: true, default: [DEMO] },
  bits: { type: 'string', default: '1,2,3,4,8' },
  calibrate: { type: 'boolean', default: false },
  originals: { type: 'string', default: 'none' },
  json: { type: 'boolean', default: false },
  output: { type: 'string' },
}, { numbers: ['bits'] });
const folder = mkdtempSync(path.join(tmpdir(), 'vicinal-recall-'));
const rows = [];
try {
  for (const prefix of values.data) {
    for (const bits of values.bits.split(',').map(Number)) {
      const measured = measure(prefix, bits, values, folder);
      rows.push(...measured);
      if (values.json) continue;
      for (const { data, recall, rerank, bytes_per_row: bytes, p50_us: p50 } of measured) {
        console.log(`${data} ${bits} bits, rerank ${rerank}: recall@10 ${recall.toFixed(4)}, `
          + `${bytes.toFixed(2)} bytes a row, p50 ${p50.toFixed(0)} us`);
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const names = values.data.map((prefix) => `--data ${path.basename(prefix)}`)
  .concat(values.calibrate ? ['--calibrate'] : [])
  .concat(values.originals === 'none' ? [] : [`--originals ${values.originals}`]).join(' ');
const report = { bench: 'recall', env: environment(`npm run bench -- recall ${names}`), rows };
if (values.json) console.log(JSON.stringify(report));
if (values.output !== undefined) {
  writeFileSync(values.output, `${JSON.stringify(report, null, 1)}\n`);
}
