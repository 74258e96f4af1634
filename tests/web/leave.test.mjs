// A realm leaves the shared memory on a stack that it does not give back with its last call.
import { expect, onTestFinished, test } from 'vitest';
import { VectorIndex } from 'vicinal';

/** The stack pointer at each release of a thread's area, and the area. */
function watchReleases() {
  const { instantiate } = WebAssembly;
  const seen = [];
  WebAssembly.instantiate = async (module, imports) => {
    const instance = await instantiate.call(WebAssembly, module, imports);
    if (instance.exports?.vic_thread_area_release === undefined) return instance;
    const { vic_thread_area_release: release, __stack_pointer: pointer } = instance.exports;
    const areaBytes = instance.exports.vic_thread_area_bytes(instance.exports.__tls_size.value);
    const exports = {
      ...instance.exports,
      vic_thread_area_release(area) {
        const at = area >>> 0;
        seen.push({ at, end: at + areaBytes, pointer: pointer.value >>> 0 });
        release(area);
      },
    };
    return { exports };
  };
  onTestFinished(() => { WebAssembly.instantiate = instantiate; });
  return seen;
}

test('the stack in use is not the one that is freed', async () => {
  const index = await VectorIndex.create({ dim: 2 }, { maxBytes: 2 ** 26 });
  onTestFinished(() => index.close());
  // A handle that this realm takes for a memory that it does not know: it attaches anew.
  const handle = index.share();
  const foreign = { ...handle, heap: { ...handle.heap, id: `${handle.heap.id} again` } };
  const seen = watchReleases();
  for (let i = 0; i < 3; ++i) {
    const reader = await VectorIndex.attach(foreign);
    expect(reader.size).toBe(0);
    await reader.close();
  }
  expect(seen).toHaveLength(3);
  for (const { at, end, pointer } of seen) {
    expect(pointer > at && pointer <= end).toBe(false);
    expect(pointer).toBeGreaterThan(0);
  }
  await index.add([1], [[1, 2]]);
  expect(index.has(1)).toBe(true);
});
