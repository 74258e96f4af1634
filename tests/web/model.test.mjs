// Random operations against a plain Map: after each of them the index holds what the map holds.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VectorIndex } from 'vicinal';
import { backends } from './support/backends.mjs';
import { newSeed, randomRows, row, scale } from './support/random.mjs';

const dim = 9;
const idCount = 48;
// One vector for each (id, version) of a row: which one a row has is what the model knows.
const versions = 4;
const vectors = randomRows(77, idCount * versions, dim);
const vectorOf = (id, version) => row(vectors, dim, id * versions + version);

const id = fc.nat({ max: idCount - 1 });
const ids = fc.uniqueArray(id, { maxLength: 40 });
const version = fc.nat({ max: versions - 1 });
const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('add'), ids, version }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('upsert'), ids, version }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('remove'), ids }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('snapshot') }) },
);

function rowsOf({ ids: list, version: which }) {
  return list.map((one) => vectorOf(one, which));
}

async function apply(index, model, step) {
  if (step.kind === 'add') {
    const taken = step.ids.find((one) => model.has(one));
    if (taken !== undefined) {
      await expect(index.add(step.ids, rowsOf(step))).rejects.toMatchObject({
        code: 'DUPLICATE_ID',
      });
      return;
    }
    expect((await index.add(step.ids, rowsOf(step))).count).toBe(step.ids.length);
  } else if (step.kind === 'upsert') {
    expect((await index.upsert(step.ids, rowsOf(step))).count).toBe(step.ids.length);
  } else if (step.kind === 'remove') {
    const removed = step.ids.filter((one) => model.delete(one)).length;
    expect(await index.remove(step.ids)).toMatchObject({ removed });
  } else if (step.kind === 'clear') {
    expect((await index.clear()).count).toBe(model.size);
    model.clear();
  }
  if (step.version !== undefined) for (const one of step.ids) model.set(one, step.version);
}

/** Every live row shows once, with the vector that it was given last; nothing else does. */
function check(reader, model) {
  expect(reader.size).toBe(model.size);
  const [probe] = model.keys();
  const query = vectorOf(probe ?? 0, 0);
  const found = Array.from(reader.search(query, { k: 2 * idCount }).ids).toSorted((a, b) => a - b);
  expect(found).toEqual([...model.keys()].toSorted((a, b) => a - b));
  for (let one = 0; one < idCount; one += 5) {
    expect(reader.has(one)).toBe(model.has(one));
    if (!model.has(one)) continue;
    const own = vectorOf(one, model.get(one));
    const [hit] = reader.search(own, { filter: [one] });
    expect(hit.score).toBeGreaterThan(0.9);
  }
}

describe.each(backends)('the model, $name', ({ load }) => {
  test('random operations leave what a map says; snapshots what it said then', async () => {
    const seed = newSeed('model');
    await fc.assert(fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (steps) => {
      const index = await VectorIndex.create({ dim }, load);
      const model = new Map();
      const snapshots = [];
      try {
        for (const step of steps) {
          if (step.kind === 'snapshot') {
            snapshots.push({ reader: index.snapshot(), model: new Map(model) });
          }
          await apply(index, model, step);
          check(index, model);
        }
        for (const { reader, model: then } of snapshots) check(reader, then);
      } finally {
        await index.close();
      }
    }), { numRuns: 25 * scale, seed });
  });
});
