// More writes at once than a ring holds, the same on a main thread and in a worker.
import { WasmBackend } from '../../../dist/backend/wasm_backend.js';
import { VectorIndex } from '../../../dist/index.js';

const kRing = 64;

/**
 * Rounds of one long write and three rings of short ones behind it, none awaited, until the ring
 * was full at least once, or `roundsMax`. What is not as if all had landed in their order.
 */
export async function writeUnderPressure(load, roundsMax = Infinity) {
  const count = 3 * kRing;
  const dim = 32;
  const long = 8000;
  const index = await VectorIndex.create({ dim }, load);
  const rows = Float32Array.from({ length: long * dim }, (_, i) => Math.sin(i * i));
  const ids = Array.from({ length: long }, (_, i) => i);
  const { submit } = WasmBackend.prototype;
  let refused = 0;
  WasmBackend.prototype.submit = function (message) {
    const taken = submit.call(this, message);
    if (!taken) ++refused;
    return taken;
  };
  const wrong = [];
  let rounds = 0;
  try {
    while (refused === 0 && wrong.length === 0 && rounds < roundsMax) {
      ++rounds;
      const writes = [index.upsert(ids, rows)];
      // The first id again and again, each time as another row: the last one decides.
      for (let i = 0; i < count; ++i) {
        writes.push(index.upsert([0, long + i],
          [rows.subarray(i * dim, (i + 1) * dim), rows.subarray(0, dim)]));
      }
      writes.push(index.remove([long]));
      const receipts = await Promise.all(writes);
      receipts.reduce((last, { sequence }) => {
        if (sequence < last) wrong.push(`receipt ${sequence} after ${last}`);
        return sequence;
      }, 0);
      const nearest = index.search(rows.subarray((count - 1) * dim, count * dim), { k: 2 });
      if (![...nearest.ids].includes(0)) wrong.push('the last write of row 0 is not the one shown');
      if (index.size !== long + count - 1 || index.has(long)) wrong.push('a row is missing');
      const { ringDepth } = index.stats();
      if (ringDepth !== 0) wrong.push(`${ringDepth} messages are left`);
    }
  } finally {
    WasmBackend.prototype.submit = submit;
    await index.close();
  }
  return { wrong, refused: refused > 0, rounds };
}
