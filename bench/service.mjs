// npm run bench -- service [--workers 1,2] [--clients 1,16] [--seconds S] [--n N] [--dim D]
//   [--data FILE --queries FILE] [--bits B] [--seed S] [--json] [--output FILE]
//
// The service of examples/service under load, on loopback: clients that each wait for their answer
// before they ask again, the writer idle and a feed of 100 rows a request without pause. The
// service is a process of its own; the clients are this one and take their share of the processors.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { commandLine } from './support/command_line.mjs';
import { dataset } from './support/dataset.mjs';
import { environment } from './support/environment.mjs';
import { percentiles, rounded } from './support/percentiles.mjs';

const SERVER = fileURLToPath(new URL('../examples/service/server.mjs', import.meta.url));
const K = 10;
const FEED_ROWS = 100;
const FILL_ROWS = 2000;
const WARM_UP_MS = 500;
const ANSWER_MS = 10_000;
const PARTS = { p50_us: 0.5, p99_us: 0.99, p999_us: 0.999 };

class Client {
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #port;

  constructor(port) {
    this.#port = port;
  }

  /** The answer to a POST; any status but 200 is an error with its code. */
  post(path, text) {
    return new Promise((resolve, reject) => {
      const sent = request({
        host: '127.0.0.1', port: this.#port, agent: this.#agent, method: 'POST', path,
        timeout: ANSWER_MS,
        headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) },
      }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (part) => { body += part; });
        response.on('error', reject);
        response.on('end', () => {
          const answer = JSON.parse(body);
          if (response.statusCode === 200) resolve(answer);
          else reject(Object.assign(new Error(answer.error.message), answer.error));
        });
      });
      sent.on('error', reject);
      sent.on('timeout', () => sent.destroy(new Error('no answer')));
      sent.end(text);
    });
  }

  close() {
    this.#agent.destroy();
  }
}

function count(errors, error) {
  const name = error.code ?? error.message;
  errors[name] = (errors[name] ?? 0) + 1;
}

/** Searches until `end`; times in microseconds of those that were answered well. */
async function ask(client, texts, end, times, errors) {
  let last = 0;
  for (let i = 0; performance.now() < end; i = (i + 1) % texts.length) {
    const start = performance.now();
    try {
      const { sequence, hits } = await client.post('/search', texts[i]);
      if (hits.length !== K || sequence < last) throw new Error('an answer that may not be');
      last = sequence;
      times.push((performance.now() - start) * 1000);
    } catch (error) {
      count(errors, error);
    }
  }
}

async function feed(client, texts, end, errors) {
  let rows = 0;
  for (let i = 0; performance.now() < end; i = (i + 1) % texts.length) {
    try {
      rows += (await client.post('/upsert', texts[i])).count;
    } catch (error) {
      count(errors, error);
    }
  }
  return rows;
}

async function measure(port, { clients, writer, seconds }, { searches, feeds }) {
  const all = Array.from({ length: clients }, () => new Client(port));
  const feeder = new Client(port);
  const part = (i) => searches.slice(i % searches.length).concat(searches.slice(0, i));
  const run = async (ms, times, errors) => {
    const end = performance.now() + ms;
    const feeding = writer === 'off' ? 0 : feed(feeder, feeds, end, errors);
    await Promise.all(all.map((client, i) => ask(client, part(i), end, times, errors)));
    return feeding;
  };
  await run(WARM_UP_MS, [], {});
  const [times, errors] = [[], {}];
  const began = performance.now();
  const fed = await run(seconds * 1000, times, errors);
  const took = (performance.now() - began) / 1000;
  for (const client of [...all, feeder]) client.close();
  const failed = Object.values(errors).reduce((sum, each) => sum + each, 0);
  return { clients, writer, requests_per_s: times.length / took, ...percentiles(times, PARTS),
    errors: failed, ...(failed > 0 ? { error_codes: errors } : {}),
    rows_written_per_s: fed / took };
}

/** The service in a process of its own, with the rows in it. */
async function startService(workers, { dim, base }, { bits }) {
  const child = spawn(process.execPath, [SERVER, '--port', '0', '--workers', String(workers),
    '--dim', String(dim), '--bits', String(bits)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, 'line'),
    exited.then(([code]) => { throw new Error(`the service ended with status ${code}`); })]);
  const port = Number(/:(\d+)\//.exec(line)[1]);
  const filler = new Client(port);
  for (const text of upserts({ dim, base }, FILL_ROWS, Infinity)) {
    await filler.post('/upsert', text);
  }
  filler.close();
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  return { port, stop };
}

/** Requests that upsert every row, or as many requests as wanted. */
function* upserts({ dim, base }, rows, most) {
  const n = base.length / dim;
  for (let first = 0, made = 0; first < n && made < most; first += rows, ++made) {
    const ids = Array.from({ length: Math.min(rows, n - first) }, (_, i) => first + i);
    const vectors = ids.map((id) => Array.from(base.subarray(id * dim, (id + 1) * dim)));
    yield JSON.stringify({ ids, vectors });
  }
}

const values = commandLine(import.meta.url, {
  workers: { type: 'string', default: '1,2' },
  clients: { type: 'string', default: '1,16' },
  seconds: { type: 'string', default: '5' },
  n: { type: 'string', default: '20000' },
  dim: { type: 'string', default: '100' },
  bits: { type: 'string', default: '4' },
  seed: { type: 'string', default: '1' },
  data: { type: 'string' },
  queries: { type: 'string' },
  json: { type: 'boolean', default: false },
  output: { type: 'string' },
}, { numbers: ['workers', 'clients', 'seconds', 'n', 'dim', 'bits', 'seed'] });
const list = (name) => values[name].split(',').map(Number);
const [n, dim, bits, seed, seconds] = ['n', 'dim', 'bits', 'seed', 'seconds']
  .map((name) => Number(values[name]));
const data = await dataset({ data: values.data, queries: values.queries, n, dim, seed });
const texts = {
  searches: Array.from({ length: data.queries.length / data.dim }, (_, i) => JSON.stringify(
    { vector: Array.from(data.queries.subarray(i * data.dim, (i + 1) * data.dim)), k: K })),
  feeds: [...upserts(data, FEED_ROWS, 20)],
};
const loadBefore = loadavg()[0];
const rows = [];
for (const workers of list('workers')) {
  const service = await startService(workers, data, { bits });
  try {
    for (const clients of list('clients')) {
      for (const writer of ['off', 'flat']) {
        const row = rounded({ data: data.name, n: data.base.length / data.dim, dim: data.dim, bits,
          workers, ...await measure(service.port, { clients, writer, seconds }, texts) });
        rows.push(row);
        if (values.json) continue;
        console.log(`${workers} threads, ${clients} clients, writer ${writer}: `
          + `${row.requests_per_s} requests/s, p50 ${row.p50_us} us, p99 ${row.p99_us} us, `
          + `p999 ${row.p999_us} us, ${row.errors} errors, `
          + `${row.rows_written_per_s} rows/s written`);
      }
    }
  } finally {
    await service.stop();
  }
}
const command = `npm run bench -- service ${process.argv.slice(2)
  .filter((arg, i, all) => arg !== '--output' && all[i - 1] !== '--output').join(' ')}`.trim();
const env = { ...environment(command, values.data === undefined ? seed : 0),
  load_before: loadBefore, load_after: loadavg()[0] };
const report = { bench: 'service', env, rows };
if (values.json) console.log(JSON.stringify(report));
if (values.output !== undefined) {
  await writeFile(values.output, `${JSON.stringify(report, null, 1)}\n`);
}
