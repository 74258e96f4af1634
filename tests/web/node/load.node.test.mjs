// Where the WebAssembly file and the worker come from, in Node.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VectorIndex } from 'vicinal';
import { errorOf } from '../support/backends.mjs';

const maxBytes = 2 ** 26;
const dist = new URL('../../../dist/', import.meta.url);
const wasmUrl = new URL('vicinal.wasm', dist);
const bytesOf = async (url) => new Uint8Array(await readFile(url)).buffer;

let server;
let origin;

beforeAll(async () => {
  const bytes = await readFile(wasmUrl);
  server = createServer((request, response) => {
    response.statusCode = request.url === '/vicinal.wasm' ? 200 : 404;
    response.end(request.url === '/vicinal.wasm' ? bytes : 'no');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${server.address().port}`;
});

afterAll(() => server.close());

async function works(load) {
  const index = await VectorIndex.create({ dim: 2 }, { maxBytes, ...load });
  await index.add([3], [[1, 2]]);
  expect(index.search([1, 2]).ids[0]).toBe(3);
  await index.close();
}

test('the file may be given as a URL, a response, bytes or a module', async () => {
  await works({ wasm: wasmUrl });
  await works({ wasm: wasmUrl.href });
  await works({ wasm: await bytesOf(wasmUrl) });
  await works({ wasm: new URL('/vicinal.wasm', origin) });
  await works({ wasm: await fetch(`${origin}/vicinal.wasm`) });
  await works({ wasm: await WebAssembly.compile(await bytesOf(wasmUrl)) });
  await works({ wasm: new URL('vicinal-single.wasm', dist), threads: false });
});

test('the caller hears how much has arrived, and its throw stops the load', async () => {
  const seen = [];
  await works({
    wasm: moduleAt(origin),
    maxBytes: 2 ** 27,
    onProgress: (progress) => seen.push(progress),
  });
  const size = (await readFile(wasmUrl)).byteLength;
  expect(seen.at(-1)).toEqual({ loadedBytes: size, totalBytes: size });
  const boom = new Error('boom');
  const error = await errorOf(() => VectorIndex.create({ dim: 2 }, {
    wasm: moduleAt(origin), maxBytes: 2 ** 28, onProgress() { throw boom; },
  }));
  expect(error).toBe(boom);
  await works({ wasm: moduleAt(origin), maxBytes: 2 ** 28 });
});

function moduleAt(base) {
  return new URL('/vicinal.wasm', base);
}

test('what cannot be had is IO, what is damaged CORRUPT, what is another\'s VERSION', async () => {
  const codeOf = async (load) =>
    (await errorOf(() => VectorIndex.create({ dim: 2 }, { maxBytes, ...load }))).code;
  expect(await codeOf({ wasm: new URL('none.wasm', dist) })).toBe('IO');
  expect(await codeOf({ wasm: new URL('/none.wasm', origin) })).toBe('IO');
  expect(await codeOf({ wasm: new URL('http://127.0.0.1:1/') })).toBe('IO');
  expect(await codeOf({ wasm: await fetch(`${origin}/none.wasm`) })).toBe('IO');
  expect(await codeOf({ wasm: new TextEncoder().encode('no module').buffer })).toBe('CORRUPT');
  const bytes = await bytesOf(wasmUrl);
  expect(await codeOf({ wasm: bytes.slice(0, bytes.byteLength / 2) })).toBe('CORRUPT');
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]).buffer;
  expect(await codeOf({ wasm: empty })).toBe('VERSION');
  expect(await codeOf({ wasm: empty, threads: false })).toBe('VERSION');
  expect(await codeOf({ wasm: wasmUrl, threads: false })).toBe('BAD_OPTION');
  expect(await codeOf({ wasm: new URL('vicinal-single.wasm', dist) })).toBe('BAD_OPTION');
  expect(await codeOf({ worker: new URL('none.js', dist) })).toBe('IO');
  await works({});
});

test('a load that one caller stops does not fail another one', async () => {
  const controller = new AbortController();
  const load = { wasm: moduleAt(origin), maxBytes: 2 ** 29 };
  const first = VectorIndex.create({ dim: 2 }, { ...load, signal: controller.signal });
  const second = VectorIndex.create({ dim: 2 }, load);
  controller.abort();
  expect((await errorOf(() => first)).code).toBe('ABORTED');
  await (await second).close();
});

test('the worker may be given as a URL, or as a worker that runs the script', async () => {
  const url = new URL('worker.js', dist);
  await works({ worker: url });
  await works({ worker: url.href });
  await works({ worker: new Worker(url) });
});

test('threads: true and a number of helpers are accepted', async () => {
  for (const threads of [true, 0, 4]) {
    const index = await VectorIndex.create({ dim: 2 }, { maxBytes, threads });
    expect(index.stats().threads).toBe(true);
    await index.close();
  }
});
