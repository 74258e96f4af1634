// One thread of the service: an HTTP server of its own, and a reader of its own on the index that
// all threads share. It answers searches itself, waiting for nobody; writes it hands to the thread
// that owns the index.
import { createServer } from 'node:http';
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { VectorIndex } from 'vicinal';
import {
  RequestError, answerOf, errorFrom, idsOfPath, readJson, rowsRequest, searchRequest,
} from './api.mjs';

const { handle, number, limits } = workerData;

const reader = await VectorIndex.attach(handle);
const calls = new Map();
let lastCall = 0;
let requests = 0;
let draining = false;

/** What the owner of the index answers. */
function ask(kind, message = {}, transfer = []) {
  return new Promise((resolve, reject) => {
    calls.set(++lastCall, { resolve, reject });
    parentPort.postMessage({ call: lastCall, kind, ...message }, transfer);
  });
}

function write(kind, { ids, vectors }) {
  return ask(kind, { ids, vectors }, vectors ? [vectors.buffer] : []);
}

function search(body) {
  const { query, options } = searchRequest(body, limits.kMax);
  const hits = reader.search(query, options);
  return { sequence: hits.sequence, hits: Array.from(hits), worker: number };
}

const kRoutes = {
  'POST /search': async (request) => search(await readJson(request, limits.bodyBytes)),
  'POST /add': async (request) =>
    write('add', rowsRequest(await readJson(request, limits.bodyBytes), reader.dim)),
  'POST /upsert': async (request) =>
    write('upsert', rowsRequest(await readJson(request, limits.bodyBytes), reader.dim)),
  'DELETE /rows/': (_request, pathname) => write('remove', { ids: idsOfPath(pathname) }),
  'GET /stats': async () => (
    { ...reader.stats(), worker: { number, thread: threadId, requests }, ...await ask('stats') }),
  'GET /health': () => {
    if (draining) throw new RequestError('CLOSED', 'the service is about to end');
    return { status: 'ok', sequence: reader.sequence, worker: number };
  },
};

function route(request) {
  const [pathname] = request.url.split('?', 1);
  const place = pathname.startsWith('/rows/') ? '/rows/' : pathname;
  const answer = kRoutes[`${request.method} ${place}`];
  if (answer !== undefined) return answer(request, pathname);
  const allowed = Object.keys(kRoutes).filter((name) => name.endsWith(` ${place}`))
    .map((name) => name.split(' ')[0]);
  if (allowed.length === 0) throw new RequestError('NOT_FOUND', `there is no ${place}`);
  throw new RequestError('METHOD', `${place} takes ${allowed}`, { Allow: allowed.join(', ') });
}

function send(response, { status, headers, body }) {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), ...headers,
    ...(draining ? { Connection: 'close' } : {}),
  }).end(text);
}

async function serve(request, response) {
  ++requests;
  try {
    send(response, { status: 200, headers: {}, body: await route(request) });
  } catch (error) {
    const answer = answerOf(error);
    if (answer.status === 500) console.error(error);
    if (!response.destroyed) send(response, answer);
  }
}

/** Answers what is under way, then leaves the memory and ends. */
async function drain(server) {
  draining = true;
  const late = setTimeout(() => server.closeAllConnections(), limits.drainMs);
  await new Promise((resolve) => { server.close(resolve); });
  clearTimeout(late);
  await reader.close();
  parentPort.close();
}

const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, serve);

parentPort.on('message', ({ call, result, error, drain: ending }) => {
  if (ending) return drain(server);
  const { resolve, reject } = calls.get(call);
  calls.delete(call);
  if (error) reject(errorFrom(error));
  else resolve(result);
});

server.listen(0, '127.0.0.1', () => parentPort.postMessage({ ready: server.address().port }));
