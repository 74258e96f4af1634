// What the tests of the benchmarks have in common: kinds of figures, and the shape of a report.
import { expect } from 'vitest';

export const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
export const isTime = (value) => Number.isFinite(value) && value > 0;
export const isShare = (value) => Number.isFinite(value) && value >= 0 && value <= 1;
export const isName = (value) => typeof value === 'string' && value !== '';

export const SHAPE = { data: isName, n: isCount, dim: isCount, bits: isCount };

/** The report has the three parts, and its rows these fields and no others, each of its kind. */
export function expectReport(report, name, fields) {
  expect(Object.keys(report)).toEqual(['bench', 'env', 'rows']);
  expect(report.bench).toBe(name);
  expect(report.rows.length).toBeGreaterThan(1);
  for (const row of report.rows) {
    expect(Object.keys(row).sort()).toEqual(Object.keys(fields).sort());
    for (const [field, fits] of Object.entries(fields)) {
      expect(fits(row[field], row), `${field}: ${row[field]}`).toBe(true);
    }
  }
}
