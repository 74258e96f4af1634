// Made data: a mixture of Gaussians whose noise is as large as the spread of their centres, the
// same for the same seed in every engine.

/** Mulberry32: numbers in [0, 1). */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` rows of `dim` coordinates. Sums of four uniforms stand for normals. */
export function mixture(seed, count, dim, clusters) {
  const next = random(seed);
  const normal = () => next() + next() + next() + next() - 2;
  const centres = Float32Array.from({ length: clusters * dim }, normal);
  const rows = new Float32Array(count * dim);
  for (let row = 0, at = 0; row < count; ++row) {
    const centre = Math.floor(next() * clusters) * dim;
    for (let i = 0; i < dim; ++i, ++at) rows[at] = centres[centre + i] + normal();
  }
  return rows;
}
