// Programs of their own: how a Node process ends, and what the death of a worker does.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const prelude = `
import { VectorIndex } from 'vicinal';
const index = await VectorIndex.create({ dim: 4 }, { maxBytes: 2 ** 26 });
await index.add([1, 2], [[1, 2, 3, 4], [4, 3, 2, 1]]);
`;

/** Runs a module in a process of its own: output, status, and the signal that stopped it. */
function run(code, flags = []) {
  return new Promise((resolve) => {
    execFile(process.execPath, [...flags, '--input-type=module', '--eval', prelude + code],
      { cwd: root, timeout: 30_000 }, (error, stdout, stderr) => {
        resolve({ status: error?.code ?? 0, signal: error?.signal ?? null, stdout, stderr });
      });
  });
}

const ended = { status: 0, signal: null, stderr: '' };

test('a process ends by itself after close', async () => {
  expect(await run('await index.close(); console.log(index.dim);'))
    .toEqual({ ...ended, stdout: '4\n' });
});

test('a process ends by itself when close was forgotten', async () => {
  expect(await run('console.log(index.size);')).toEqual({ ...ended, stdout: '2\n' });
});

test('a forgotten searchAsync worker does not keep a process', async () => {
  expect(await run('console.log((await index.searchAsync([1, 2, 3, 4], { k: 1 })).ids[0]);'))
    .toEqual({ ...ended, stdout: '1\n' });
});

test('a process waits for a write that nobody awaits', async () => {
  const code = `
    const ids = Array.from({ length: 50_000 }, (_, i) => i + 10);
    index.add(ids, new Float32Array(200_000).fill(1)).then((r) => console.log(r.count));`;
  expect(await run(code)).toEqual({ ...ended, stdout: '50000\n' });
});

test('a process ends with attached workers that were forgotten', async () => {
  const code = `
    import { Worker } from 'node:worker_threads';
    const source = "import { VectorIndex } from 'vicinal';"
      + "import { workerData, parentPort } from 'node:worker_threads';"
      + "const reader = await VectorIndex.attach(workerData);"
      + "parentPort.postMessage(reader.size);";
    const url = new URL('data:text/javascript,' + encodeURIComponent(source.replaceAll("'vicinal'",
      "'" + import.meta.resolve('vicinal') + "'")));
    const worker = new Worker(url, { workerData: index.share(), execArgv: [] });
    worker.on('message', (size) => console.log(size));`;
  expect(await run(code, ['--experimental-import-meta-resolve']))
    .toEqual({ ...ended, stdout: '2\n' });
});

test('when the writer dies, the next write finds another, and close works', async () => {
  const code = `
    import { Worker } from 'node:worker_threads';
    await index.close();
    const worker = new Worker(new URL(import.meta.resolve('vicinal/worker')), { execArgv: [] });
    const own = await VectorIndex.create({ dim: 4 }, { worker, maxBytes: 2 ** 26 });
    await own.add([1], [[1, 2, 3, 4]]);
    await worker.terminate();
    const codes = [];
    for (let i = 2; i < 4; ++i) {
      await own.add([i], [[1, 2, 3, 4]]).catch((error) => codes.push(error.code));
    }
    console.log(codes.join(), own.search([1, 2, 3, 4]).ids.join(), own.has(1));
    await own.close();
    const next = await VectorIndex.create({ dim: 4 }, { maxBytes: 2 ** 26 });
    await next.add([9], [[1, 2, 3, 4]]);
    console.log(next.size);`;
  expect(await run(code, ['--experimental-import-meta-resolve']))
    .toEqual({ ...ended, stdout: ' 1,2,3 true\n1\n' });
});

test('writes that are under way when the writer dies are done', async () => {
  const code = `
    import { Worker } from 'node:worker_threads';
    const worker = new Worker(new URL(import.meta.resolve('vicinal/worker')), { execArgv: [] });
    const own = await VectorIndex.create({ dim: 4 }, { worker, maxBytes: 2 ** 26 });
    const ids = Array.from({ length: 40_000 }, (_, i) => i);
    const rows = new Float32Array(160_000).fill(1);
    const writes = [own.add(ids, rows), own.upsert(ids, rows), own.remove(ids)];
    await worker.terminate();
    const outcomes = await Promise.allSettled(writes);
    console.log(outcomes.every((o) => o.status === 'fulfilled' && o.value.count === 40_000),
      own.size === 0);
    await own.close();
    await index.close();`;
  expect(await run(code, ['--experimental-import-meta-resolve']))
    .toEqual({ ...ended, stdout: 'true true\n' });
});

test('importing the package does nothing: no memory, no worker', async () => {
  const code = 'await index.close();';
  const { stdout } = await run(code);
  expect(stdout).toBe('');
  const bare = await new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module', '--eval', `
      const before = process.memoryUsage().arrayBuffers;
      await import('vicinal');
      console.log(process.memoryUsage().arrayBuffers - before < 1e6,
        process.getActiveResourcesInfo().filter((name) => /worker|port/i.test(name)).length);`],
    { cwd: root }, (_error, out) => resolve(out));
  });
  expect(bare).toBe('true 0\n');
});
