// What the commands find and print, on real word vectors.
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  BASE, QUERIES, TRUTH, fvecs, readFvecs, readIvecs, runCommand, succeed, temporaryFolder, u64,
} from './support/command.mjs';

const { file, write, names, remove } = temporaryFolder();
const index = file('words.vic');
let built;

const search = (args) => succeed(['search', '--index', index, '--queries', QUERIES, ...args]);
const recall = (args) => succeed(['recall', '--index', index, '--queries', QUERIES,
  '--truth', TRUTH, ...args]).recall;

beforeAll(() => { built = succeed(['build', '--input', BASE, '--output', index]); });
afterAll(remove);

describe('build', () => {
  it('reports rows, dim, bits, metric, bytes and seconds', () => {
    expect(built).toMatchObject({ rows: 2000, dim: 100, bits: 4, metric: 'cosine' });
    expect(built.bytes).toBeGreaterThan(2000 * 50);
    expect(built.seconds).toBeGreaterThan(0);
    expect(built.file_bytes).toBe(readFileSync(index).length);
  });

  it('leaves no other file beside its output', () => {
    expect(names()).toContain('words.vic');
    expect(names().filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it.each([1, 2, 5])('writes the same bytes with %i threads', (threads) => {
    const rows = readFvecs(BASE);
    // Several slices, so that threads have something to race for.
    const many = write('many.fvecs', fvecs([...Array(16).keys()].flatMap(() => rows)));
    const out = file(`threads-${threads}.vic`);
    succeed(['build', '--input', many, '--output', out, '--bits', 1, '--threads', threads]);
    const one = file('threads-1.vic');
    expect(readFileSync(out).equals(readFileSync(one))).toBe(true);
  });

  it.each(['cosine', 'ip', 'l2'])('makes a %s index', (metric) => {
    const out = file(`${metric}.vic`);
    succeed(['build', '--input', BASE, '--output', out, '--metric', metric, '--bits', 8]);
    expect(succeed(['info', '--index', out])).toMatchObject({ metric, bits: 8 });
    const [nearest] = succeed(['search', '--index', out, '--queries', BASE, '-k', 1]).results;
    expect(nearest.scores).toHaveLength(1);
  });

  it('measures rows from their centre with --calibrate', () => {
    // The words moved far from zero: only their differences tell them apart.
    const far = (name, rows) => write(name, fvecs(rows.map((one) => one.map((x) => x + 10))));
    const input = far('far.fvecs', readFvecs(BASE));
    const queries = far('far-queries.fvecs', readFvecs(QUERIES));
    const nearest = (out) => succeed(['search', '--index', out, '--queries', queries, '-k', 10])
      .results.map(({ ids }) => ids);
    const made = (name, ...args) => {
      const out = file(name);
      succeed(['build', '--input', input, '--output', out, '--metric', 'l2', ...args]);
      return out;
    };
    const exact = nearest(made('far-exact.vic', '--bits', 8, '--calibrate'));
    const shared = (found) => found.flatMap((ids, q) => ids.filter((id) => exact[q].includes(id)));
    const calibrated = made('far-calibrated.vic', '--calibrate');
    const plain = made('far-plain.vic');
    expect(succeed(['info', '--index', calibrated]))
      .toMatchObject({ calibrated: true, rows: 2000 });
    expect(succeed(['info', '--index', plain])).toMatchObject({ calibrated: false });
    expect(shared(nearest(calibrated)).length).toBeGreaterThan(850);
    expect(shared(nearest(plain)).length).toBeLessThan(700);
  });

  it('rotates by the seed: another seed, another file; the same seed, the same file', () => {
    const files = [[1, 'a'], [2, 'b'], [1, 'c']].map(([seed, name]) => {
      const out = file(`seed-${name}.vic`);
      succeed(['build', '--input', BASE, '--output', out, '--seed', seed]);
      return readFileSync(out);
    });
    expect(files[0].equals(files[1])).toBe(false);
    expect(files[0].equals(files[2])).toBe(true);
  });
});

describe('recall', () => {
  it('exceeds 0.9 at 4 bits', () => {
    expect(recall(['-k', 10])).toBeGreaterThan(0.9);
    expect(recall(['-k', 10, '--exhaustive'])).toBeGreaterThan(0.9);
  });

  it('agrees with the ids that search finds', () => {
    const truth = readIvecs(TRUTH);
    const right = search(['-k', 10]).results.reduce((sum, { ids }, query) =>
      sum + ids.filter((id) => truth[query].slice(0, 10).includes(id)).length, 0);
    expect(recall(['-k', 10])).toBeCloseTo(right / (100 * 10), 12);
  });
});

describe('search', () => {
  it('reports k, queries, results, p50_us, p99_us and searches_per_s', () => {
    const found = search(['-k', 7]);
    expect(Object.keys(found)).toEqual(
      ['k', 'queries', 'results', 'p50_us', 'p99_us', 'searches_per_s']);
    expect(found).toMatchObject({ k: 7, queries: 100 });
    expect(found.results).toHaveLength(100);
    for (const { ids, scores } of found.results) {
      expect(ids).toHaveLength(7);
      expect(scores).toEqual([...scores].sort((a, b) => b - a));
    }
    expect(found.p50_us).toBeGreaterThan(0);
    expect(found.p99_us).toBeGreaterThanOrEqual(found.p50_us);
    expect(found.searches_per_s).toBeGreaterThan(0);
  });

  it('writes the same ids to ivecs', () => {
    const out = file('found.ivecs');
    const { results } = search(['-k', 10, '--output', out]);
    expect(readIvecs(out)).toEqual(results.map(({ ids }) => ids));
  });

  it('prints one line a hit for people and programs', () => {
    const { stdout } = runCommand(['search', '--index', index, '--queries', QUERIES, '-k', '2']);
    const [head, ...lines] = stdout.trimEnd().split('\n');
    expect(head).toBe('query\trank\tid\tscore');
    expect(lines).toHaveLength(200);
    const { results } = search(['-k', 2]);
    expect(lines[3].split('\t').slice(0, 3)).toEqual(['1', '2', String(results[1].ids[1])]);
  });

  it('finds nothing for k = 0 and every row for k beyond them', () => {
    expect(search(['-k', 0]).results[0]).toEqual({ ids: [], scores: [] });
    const [{ ids }] = search(['-k', 5000]).results;
    expect(new Set(ids).size).toBe(2000);
  });

  it('gives the same results exhaustively as with an infinite certainty', () => {
    const { results } = search(['--exhaustive']);
    expect(search(['--certainty', 'inf']).results).toEqual(results);
  });
});

describe('info', () => {
  it('reports what api documents, and the bytes that build reported', () => {
    const info = succeed(['info', '--index', index]);
    expect(info).toMatchObject({
      rows: 2000, dead: 0, dim: 100, bits: 4, metric: 'cosine', originals: 'none',
    });
    expect(info.bytes_per_row).toBeCloseTo(info.bytes / 2000, 9);
    expect(info.sequence).toBeGreaterThanOrEqual(1);
    expect(info.kernel).toMatch(/^[a-z0-9_]+$/);
    const parts = Object.values(info.bytes_by_part).reduce((sum, bytes) => sum + bytes, 0);
    expect(parts).toBe(info.bytes);
  });

  it('prints the same for people', () => {
    expect(runCommand(['info', '--index', index]).stdout).toMatch(/^rows +2000$/m);
  });
});

describe('add, remove and export', () => {
  const rows = readFvecs(BASE);

  it('add numbers rows after the largest present id, and equals one build of everything', () => {
    const first = write('first.fvecs', fvecs(rows.slice(0, 1500)));
    const rest = write('rest.fvecs', fvecs(rows.slice(1500)));
    const grown = file('grown.vic');
    succeed(['build', '--input', first, '--output', grown]);
    expect(succeed(['add', '--index', grown, '--input', rest]))
      .toMatchObject({ added: 500, rows: 2000 });
    expect(succeed(['search', '--index', grown, '--queries', QUERIES]).results)
      .toEqual(search([]).results);
    expect(succeed(['verify', '--index', grown])).toMatchObject({ rows: 2000, notes: [] });
  });

  it('remove takes rows away, and counts only those that were there', () => {
    const shrunk = file('shrunk.vic');
    writeFileSync(shrunk, readFileSync(index));
    const [{ ids }] = search(['-k', 3]).results;
    const list = write('gone.txt', [...ids, 999999].join('\n'));
    expect(succeed(['remove', '--index', shrunk, '--ids', list]))
      .toMatchObject({ removed: 3, rows: 1997 });
    const [after] = succeed(['search', '--index', shrunk, '--queries', QUERIES, '-k', 3]).results;
    expect(after.ids.filter((id) => ids.includes(id))).toEqual([]);
    expect(succeed(['remove', '--index', shrunk, '--ids', list])).toMatchObject({ removed: 0 });
  });

  it('verify finds a whole file whole', () => {
    expect(succeed(['verify', '--index', index]))
      .toEqual({
        ok: true, records: expect.any(Number), bytes: readFileSync(index).length, rows: 2000,
        notes: [],
      });
  });

  it('compact leaves the same rows, and as large a file where there is nothing to lose', () => {
    const compacted = file('compacted.vic');
    writeFileSync(compacted, readFileSync(index));
    expect(succeed(['compact', '--index', compacted]))
      .toMatchObject({ rows: 2000, dead: 0, dropped: 0, file_bytes: readFileSync(index).length });
    succeed(['remove', '--index', compacted, '--ids', write('some.txt', '1\n2\n3\n')]);
    const results = succeed(['search', '--index', compacted, '--queries', QUERIES]);
    expect(succeed(['compact', '--index', compacted])).toMatchObject({ rows: 1997, dead: 0 });
    expect(succeed(['search', '--index', compacted, '--queries', QUERIES]).results)
      .toEqual(results.results);
  });

  it('add numbers from 0 in an index that was emptied', () => {
    const emptied = file('emptied.vic');
    const few = write('few.fvecs', fvecs(rows.slice(0, 3)));
    succeed(['build', '--input', few, '--output', emptied]);
    succeed(['remove', '--index', emptied, '--ids', write('all.u64', u64([0, 1, 2]))]);
    expect(succeed(['info', '--index', emptied])).toMatchObject({ rows: 0, bytes_per_row: 0 });
    succeed(['add', '--index', emptied, '--input', few]);
    const { results } = succeed(['search', '--index', emptied, '--queries', few, '-k', 1]);
    expect(results.map(({ ids }) => ids[0])).toEqual([0, 1, 2]);
  });

  it('export writes unit vectors close to those that were added, by ascending id', () => {
    const eight = file('eight.vic');
    const idFile = write('backwards.txt', rows.map((_, i) => `${10 + rows.length - i}\n`).join(''));
    succeed(['build', '--input', BASE, '--output', eight, '--bits', 8, '--ids', idFile]);
    const out = file('out.fvecs');
    const outIds = file('out.txt');
    expect(succeed(['export', '--index', eight, '--output', out, '--output-ids', outIds]))
      .toMatchObject({ rows: 2000, dim: 100 });
    expect(readFileSync(outIds, 'utf8').trim().split('\n').map(Number))
      .toEqual(rows.map((_, i) => 11 + i));
    readFvecs(out).forEach((row, i) => {
      const added = rows[rows.length - 1 - i];
      const dot = row.reduce((sum, value, j) => sum + value * added[j], 0);
      expect(dot / Math.hypot(...added) / Math.hypot(...row)).toBeGreaterThan(0.999);
      expect(Math.hypot(...row)).toBeCloseTo(1, 2);
    });
  });
});
