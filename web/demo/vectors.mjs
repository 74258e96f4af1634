// Reads the vector files of the demo.

/** Half-precision bits to a number. */
function halfToNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** @returns {{ dim: number, count: number, rows: Float32Array }} of an f16vecs file. */
export function readHalfVectors(buffer) {
  const view = new DataView(buffer);
  const dim = view.getInt32(0, true);
  const stride = 4 + 2 * dim;
  const count = buffer.byteLength / stride;
  const rows = new Float32Array(count * dim);
  for (let i = 0; i < count; ++i) {
    for (let j = 0; j < dim; ++j) {
      rows[i * dim + j] = halfToNumber(view.getUint16(i * stride + 4 + 2 * j, true));
    }
  }
  return { dim, count, rows };
}

/** @returns {Int32Array[]} the rows of an ivecs file. */
export function readIntVectors(buffer) {
  const words = new Int32Array(buffer);
  const rows = [];
  for (let at = 0; at < words.length; at += words[at] + 1) {
    rows.push(words.subarray(at + 1, at + 1 + words[at]));
  }
  return rows;
}
