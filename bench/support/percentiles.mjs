// Percentiles of what was measured, the same in every engine.

/** p50, p99 and so on of microseconds: { p50_us, p99_us, ... }, of an array that it sorts. */
export function percentiles(micros, parts = { p50_us: 0.5, p99_us: 0.99 }) {
  micros.sort((a, b) => a - b);
  return Object.fromEntries(Object.entries(parts).map(([name, part]) =>
    [name, micros[Math.min(micros.length - 1, Math.floor(part * micros.length))]]));
}

/** Five digits are more than a measurement is good for. */
export function rounded(row) {
  return Object.fromEntries(Object.entries(row).map(([name, value]) =>
    [name, typeof value === 'number' ? Number(value.toPrecision(5)) : value]));
}
