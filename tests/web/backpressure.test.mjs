// Writers that are faster than the writer's worker: who may not wait does not, and all writes land.
import { describe, expect, onTestFinished, test } from 'vitest';
import { backends, withThreads } from './support/backends.mjs';
import { writeUnderPressure } from './support/pressure.mjs';
import { startWorker } from './support/workers.mjs';

describe.each(withThreads)('more writes than the ring holds, $name', ({ load }) => {
  test('from a main thread, which never sleeps', async () => {
    const { wait } = Atomics;
    let slept = 0;
    Atomics.wait = (words, at, value, timeout) => {
      if (timeout === 0) return wait(words, at, value, timeout);  // a question, see canBlock
      ++slept;
      throw new TypeError('a main thread that sleeps');
    };
    onTestFinished(() => { Atomics.wait = wait; });
    expect(await writeUnderPressure(load)).toMatchObject({ wrong: [], refused: true });
    expect(slept).toBe(0);
  });

  test('from a worker', async () => {
    const worker = await startWorker();
    expect(await worker.call('writeUnderPressure', load))
      .toMatchObject({ wrong: [], refused: true });
    await worker.terminate();
  });
});

test('without threads the writes are applied between the calls', async () => {
  const { load } = backends.find(({ name }) => name === 'single');
  expect(await writeUnderPressure(load, 3)).toMatchObject({ wrong: [], rounds: 3 });
});
