// The service of examples/service: several threads on one index, over HTTP.
//
// Every answer names its version: the log of the writes up to there, replayed on an index without
// threads, has to give the same answer to the bit.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Service } from '../../../examples/service/service.mjs';
import { create } from '../support/backends.mjs';
import { newSeed, random, randomRows, range, row, scale } from '../support/random.mjs';

const dim = 24;
const command = fileURLToPath(new URL('../../../examples/service/server.mjs', import.meta.url));
const patience = { timeout: 30_000, interval: 5 };

async function startService(options = {}) {
  const service = await Service.start({ dim, maxBytes: 2 ** 27, workers: 3, ...options });
  onTestFinished(() => service.close());
  return service;
}

/** One connection, kept; another one when it breaks. */
class Client {
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #port;

  constructor(port) {
    this.#port = port;
    onTestFinished(() => this.#agent.destroy());
  }

  call(method, path, body, headers = {}) {
    const text = typeof body === 'string' ? body : body && JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request({
        host: '127.0.0.1', port: this.#port, agent: this.#agent, method, path,
        headers: { ...(text ? { 'Content-Type': 'application/json' } : {}), ...headers },
      }, async (response) => {
        try {
          const parts = await response.toArray();
          const { statusCode: status, headers: fields } = response;
          resolve({ status, headers: fields, body: JSON.parse(Buffer.concat(parts).toString()) });
        } catch (error) {
          reject(error);
        }
      });
      sent.on('error', reject);
      sent.end(text);
    });
  }

  async search(body) {
    const { status, body: found } = await this.call('POST', '/search', body);
    expect(status, JSON.stringify(found)).toBe(200);
    return found;
  }
}

const listOf = (vector) => Array.from(vector);
const rowsOf = (rows) => range(rows.length / dim).map((i) => listOf(row(rows, dim, i)));

/** Writes at random, and what they did, by the version that shows them first. */
class Feeder {
  log = [];
  #client;
  #next;
  #present = new Map();
  #lastId = 0;

  constructor(client, seed) {
    this.#client = client;
    this.#next = random(seed);
  }

  pick(list) {
    return list[Math.floor(this.#next() * list.length)];
  }

  async write() {
    const present = [...this.#present.keys()];
    const choice = this.#next();
    const count = 1 + Math.floor(this.#next() * 20);
    const rows = randomRows(Math.floor(this.#next() * 2 ** 31), count, dim);
    if (present.length < 100 || choice < 0.4) {
      const ids = range(count, this.#lastId + 1);
      this.#lastId += count;
      return this.#send('POST', '/add', { ids, rows });
    }
    const ids = [...new Set(range(count).map(() => this.pick(present)))];
    if (choice < 0.7) {
      return this.#send('POST', '/upsert', { ids, rows: rows.slice(0, ids.length * dim) });
    }
    return this.#send('DELETE', `/rows/${ids}`, { ids });
  }

  async #send(method, path, { ids, rows }) {
    const body = rows && { ids, vectors: rowsOf(rows) };
    const { status, body: receipt } = await this.#client.call(method, path, body);
    expect(status, JSON.stringify(receipt)).toBe(200);
    expect(receipt.count).toBe(ids.length);
    expect(receipt.sequence).toBeGreaterThan(this.log.at(-1)?.sequence ?? 0);
    for (const [i, id] of ids.entries()) {
      if (rows) this.#present.set(id, row(rows, dim, i));
      else this.#present.delete(id);
    }
    this.log.push({ sequence: receipt.sequence, ids, rows });
    return this.log.at(-1);
  }
}

/** Another client sees at once what a write has left. */
async function readOwnWrite(client, { sequence, ids, rows }) {
  const vector = rows ? listOf(row(rows, dim, 0)) : listOf(randomRows(sequence, 1, dim));
  const found = await client.search({ vector, k: 1, minSequence: sequence, filter: [ids[0]] });
  expect(found.sequence).toBeGreaterThanOrEqual(sequence);
  expect(found.hits.map(({ id }) => id)).toEqual(rows ? [ids[0]] : []);
  if (rows) expect((await client.search({ vector, k: 1 })).hits[0].id).toBe(ids[0]);
}

/** Searches until told to stop; its versions may only rise. */
async function ask(client, seed, queries, state) {
  const next = random(seed);
  const answers = [];
  while (!state.done) {
    const query = Math.floor(next() * queries.length);
    const filter = next() < 0.3 ? range(40).map(() => 1 + Math.floor(next() * 400)) : undefined;
    const options = { k: Math.floor(next() * 30), filter, exhaustive: true };
    const { sequence, hits, worker } = await client.search({ vector: queries[query], ...options });
    expect(sequence).toBeGreaterThanOrEqual(answers.at(-1)?.sequence ?? 0);
    answers.push({ query, options, sequence, hits, worker });
  }
  return answers;
}

async function expectReplayed(answers, log, queries) {
  const replay = await create({ dim }, { threads: false });
  const waiting = [...log];
  for (const { query, options, sequence, hits } of
    answers.toSorted((a, b) => a.sequence - b.sequence)) {
    while (waiting.length > 0 && waiting[0].sequence <= sequence) {
      const { ids, rows } = waiting.shift();
      if (rows) await replay.upsert(ids, rows);
      else await replay.remove(ids);
    }
    expect(hits).toEqual(Array.from(replay.search(queries[query], options)));
  }
}

describe('service', () => {
  test('every answer, of every thread, is the one of its version', async () => {
    const seed = newSeed('service');
    const service = await startService();
    const clients = range(4).map(() => new Client(service.port));
    const feeder = new Feeder(new Client(service.port), seed);
    const other = new Client(service.port);
    await feeder.write();
    const queries = rowsOf(randomRows(seed + 1, 20, dim));
    const state = { done: false };
    const asking = clients.map((client, i) => ask(client, seed + 2 + i, queries, state));
    for (let i = 0; i < 80 * scale; ++i) await readOwnWrite(other, await feeder.write());
    state.done = true;
    const answers = (await Promise.all(asking)).flat();
    expect(new Set(answers.map(({ worker }) => worker)).size).toBeGreaterThan(1);
    expect(new Set(answers.map(({ sequence }) => sequence)).size).toBeGreaterThan(10);
    await expectReplayed(answers, feeder.log, queries);
    // Negative control: an answer that is taken for one of a version before is noticed.
    const last = answers.filter(({ hits }) => hits.length > 0).at(-1);
    await expect(expectReplayed([{ ...last, sequence: feeder.log[0].sequence - 1 }], feeder.log,
      queries)).rejects.toThrow();
    const ahead = await other.call('POST', '/search', { vector: queries[0], minSequence: 1e6 });
    expect(ahead).toMatchObject({ status: 503, body: { error: { code: 'WOULD_BLOCK' } } });
    expect(ahead.headers['retry-after']).toBe('1');
  });

  test('a thread that is killed is replaced, and the others go on', async () => {
    const workers = 2;
    const service = await startService({ workers });
    const rows = randomRows(1, 300, dim);
    await service.index.add(range(300), rows);
    const { readers } = service.index.stats();
    const vector = listOf(row(rows, dim, 5));
    const expected = Array.from(service.index.search(vector, { k: 20 }));
    const state = { done: false, broken: 0, answers: 0 };
    const asking = range(4).map(async () => {
      const client = new Client(service.port);
      while (!state.done) {
        try {
          expect((await client.search({ vector, k: 20 })).hits).toEqual(expected);
          ++state.answers;
        } catch (error) {
          if (!['ECONNRESET', 'EPIPE', 'ECONNREFUSED'].includes(error.code)) throw error;
          ++state.broken;
        }
      }
    });
    const control = new Client(service.port);
    for (let kill = 0; kill < 6; ++kill) {
      const victim = service.worker(kill % workers);
      await service.index.upsert(range(300), rows);
      await victim.terminate();
      await vi.waitUntil(() => service.ports.length === workers, patience);
      const before = state.answers;
      await vi.waitUntil(() => state.answers > before + 20, patience);
    }
    state.done = true;
    await Promise.all(asking);
    const { body } = await control.call('GET', '/stats');
    expect(body.service).toEqual({ workers, replaced: 6, writes: 0 });
    await vi.waitUntil(() => service.index.stats().readers === readers, patience);
    expect(body).toMatchObject({ size: 300, slotsRetired: 0 });
  });

  test.for([
    ['POST', '/search', { vector: [1] }, 400, 'DIMENSION'],
    ['POST', '/search', { vector: Array(dim).fill('1') }, 400, 'NOT_FINITE'],
    ['POST', '/search', { vector: 'x' }, 400, 'BAD_REQUEST'],
    ['POST', '/search', {}, 400, 'BAD_REQUEST'],
    ['POST', '/search', '{"vector": [', 400, 'BAD_REQUEST'],
    ['POST', '/search', '[]', 400, 'BAD_REQUEST'],
    ['POST', '/search', { vector: Array(dim).fill(1), k: -1 }, 400, 'BAD_OPTION'],
    ['POST', '/search', { vector: Array(dim).fill(1), k: 1e9 }, 400, 'BAD_OPTION'],
    ['POST', '/search', { vector: Array(dim).fill(1), filter: [-1] }, 400, 'BAD_ID'],
    ['POST', '/search', { vector: Array(dim).fill(1), filter: 7 }, 400, 'BAD_REQUEST'],
    ['POST', '/search', { vector: Array(dim).fill(1), minSequence: 'x' }, 400, 'BAD_OPTION'],
    ['POST', '/add', { ids: [1], vectors: [Array(dim).fill(1)] }, 409, 'DUPLICATE_ID'],
    ['POST', '/add', { ids: [7], vectors: [[1, 2]] }, 400, 'DIMENSION'],
    ['POST', '/add', { ids: [7, 8], vectors: [Array(dim).fill(1)] }, 400, 'DIMENSION'],
    ['POST', '/add', { ids: [7], vectors: [Array(dim).fill(null)] }, 400, 'NOT_FINITE'],
    ['POST', '/add', { ids: [7], vectors: [Array(dim).fill(1e300)] }, 400, 'NOT_FINITE'],
    ['POST', '/upsert', { ids: ['a'], vectors: [Array(dim).fill(1)] }, 400, 'BAD_ID'],
    ['POST', '/upsert', { ids: [1.5], vectors: [Array(dim).fill(1)] }, 400, 'BAD_ID'],
    ['POST', '/upsert', { filler: 'x'.repeat(70_000) }, 413, 'TOO_LARGE'],
    ['DELETE', '/rows/abc', undefined, 400, 'BAD_ID'],
    ['DELETE', '/rows/9999999999999999', undefined, 400, 'BAD_ID'],
    ['GET', '/rows/1', undefined, 405, 'METHOD'],
    ['GET', '//', undefined, 404, 'NOT_FOUND'],
    ['GET', '/constructor', undefined, 404, 'NOT_FOUND'],
  ])('%s %s %j: %i %s', async ([method, path, body, status, code]) => {
    const service = await startService({ workers: 1, bodyBytes: 2 ** 16 });
    await service.index.add([1], randomRows(1, 1, dim));
    const client = new Client(service.port);
    const answer = await client.call(method, path, body);
    expect(answer).toMatchObject({ status, body: { error: { code } } });
    // It has changed nothing, and the same connection goes on.
    expect(service.index).toMatchObject({ size: 1, sequence: 1 });
    expect((await client.call('GET', '/health')).body).toMatchObject({ status: 'ok' });
  });

  test('a body that is not JSON by its type is refused', async () => {
    const service = await startService({ workers: 1 });
    const answer = await new Client(service.port).call('POST', '/search', '{}',
      { 'Content-Type': 'text/plain' });
    expect(answer).toMatchObject({ status: 415, body: { error: { code: 'TYPE' } } });
  });

  test('more writes than may wait are refused, and can be tried again', async () => {
    const service = await startService({ workers: 1, writesMax: 0 });
    const answer = await new Client(service.port).call('POST', '/add',
      { ids: [1], vectors: rowsOf(randomRows(1, 1, dim)) });
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'BUSY' } } });
    expect(service.index.size).toBe(0);
  });
});

/** The command of its own, and the port it tells. */
async function startCommand(...args) {
  const child = spawn(process.execPath, [command, '--port', '0', ...args]);
  onTestFinished(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => { output += text; });
  }
  const exited = once(child, 'exit');
  await Promise.race([exited, vi.waitUntil(() => output.includes('Ctrl+C'), patience)]);
  return { child, exited, port: Number(/:(\d+)\//.exec(output)?.[1]), output: () => output };
}

test.for([['--worker', '2'], ['--dim', 'abc'], ['--workers', '1.5'], ['--max-bytes', '1GB'],
  ['--port', '-1'], ['--dim'], ['extra']])(
  'the command line %o is told in a line, with the usage', async (args) => {
    const child = spawn(process.execPath, [command, ...args]);
    const texts = Promise.all([child.stdout.toArray(), child.stderr.toArray()]);
    const [code] = await once(child, 'exit');
    const [output, errors] = (await texts).map((parts) => Buffer.concat(parts).toString());
    expect([code, output]).toEqual([2, '']);
    const [line, usage] = errors.split('\n');
    expect(line).toContain(args[0].replace('--', ''));
    expect(usage).toMatch(/^usage: node examples\/service\/server.mjs/);
    expect(errors).not.toMatch(/\bat /);
  });

test.for([0, -1, 1.5, NaN])('%f threads are refused', async (workers) => {
  await expect(Service.start({ dim, workers })).rejects.toThrow(/workers: .* integer/);
});

test('told to end, the command answers what is under way, takes no more, and ends', async () => {
  const { child, exited, port, output } = await startCommand('--dim', '3', '--workers', '2');
  const body = JSON.stringify({ ids: [1], vectors: [[1, 0, 0]] });
  const half = request({
    host: '127.0.0.1', port, method: 'POST', path: '/add', agent: new Agent({ keepAlive: true }),
    headers: { 'Content-Type': 'application/json', 'Content-Length': body.length,
      Expect: '100-continue' },
  });
  half.flushHeaders();
  const answered = once(half, 'response');
  await once(half, 'continue');  // a thread has the request
  half.write(body.slice(0, 10));
  child.kill('SIGTERM');
  const client = new Client(port);
  await vi.waitUntil(() => client.call('GET', '/health').then(() => false,
    ({ code }) => code === 'ECONNREFUSED'), patience);
  half.end(body.slice(10));
  const [response] = await answered;
  expect(response.statusCode).toBe(200);
  expect(response.headers.connection).toBe('close');
  expect(await exited).toEqual([0, null]);
  expect(output()).toMatch(/has ended/);
});

test('a service that cannot start says why, and ends', async () => {
  const { exited, output } = await startCommand('--dim', '0');
  expect(await exited).toEqual([1, null]);
  expect(output()).toMatch(/could not start: .*dim/);
});
