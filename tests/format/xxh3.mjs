// XXH3 with 64 bits, as the algorithm's specification has it, for a reader of files that shares
// nothing with the core. Plain rather than fast: some megabytes a second.

const MASK = (1n << 64n) - 1n;
const PRIME32_1 = 0x9e3779b1n;
const PRIME32_2 = 0x85ebca77n;
const PRIME32_3 = 0xc2b2ae3dn;
const PRIME64_1 = 0x9e3779b185ebca87n;
const PRIME64_2 = 0xc2b2ae3d27d4eb4fn;
const PRIME64_3 = 0x165667b19e3779f9n;
const PRIME64_4 = 0x85ebca77c2b2ae63n;
const PRIME64_5 = 0x27d4eb2f165667c5n;
const PRIME_MIX_1 = 0x165667919e3779f9n;
const PRIME_MIX_2 = 0x9fb21c651e98df25n;

const SECRET_BYTES = 192;
const STRIPE_BYTES = 64;
const SECRET_STEP = 8;
const BLOCK_STRIPES = (SECRET_BYTES - STRIPE_BYTES) / SECRET_STEP;

const SECRET = Uint8Array.from([
  'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f',
  'cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c',
  '3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8',
  'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364',
  'eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e',
  '2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e',
].join('').match(/../g), (digits) => Number.parseInt(digits, 16));

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const rotateLeft = (x, by) => (x << by | x >> (64n - by)) & MASK;
const swapBytes = (x, bytes) => {
  let swapped = 0n;
  for (let i = 0n; i < bytes; i += 1n) swapped = swapped << 8n | (x >> 8n * i & 0xffn);
  return swapped;
};
const foldProduct = (a, b) => {
  const product = (a & MASK) * (b & MASK);
  return (product & MASK) ^ product >> 64n;
};

function avalancheOfXxh64(x) {
  let h = x & MASK;
  h = (h ^ h >> 33n) * PRIME64_2 & MASK;
  h = (h ^ h >> 29n) * PRIME64_3 & MASK;
  return h ^ h >> 32n;
}

function avalanche(x) {
  let h = x & MASK;
  h = (h ^ h >> 37n) * PRIME_MIX_1 & MASK;
  return h ^ h >> 32n;
}

function upTo16(input, secret, seed) {
  const length = input.byteLength;
  const at = (offset) => secret.getBigUint64(offset, true);
  if (length > 8) {
    const low = input.getBigUint64(0, true) ^ (at(24) ^ at(32)) + seed & MASK;
    const high = input.getBigUint64(length - 8, true) ^ (at(40) ^ at(48)) - seed & MASK;
    return avalanche(BigInt(length) + swapBytes(low, 8n) + high + foldProduct(low, high));
  }
  if (length >= 4) {
    const mixed = seed ^ swapBytes(seed & 0xffffffffn, 4n) << 32n;
    const first = BigInt(input.getUint32(0, true));
    const last = BigInt(input.getUint32(length - 4, true));
    let h = (last + (first << 32n)) ^ (at(8) ^ at(16)) - mixed & MASK;
    h ^= rotateLeft(h, 49n) ^ rotateLeft(h, 24n);
    h = h * PRIME_MIX_2 & MASK;
    h ^= (h >> 35n) + BigInt(length);
    h = h * PRIME_MIX_2 & MASK;
    return h ^ h >> 28n;
  }
  if (length > 0) {
    const combined = input.getUint8(0) * 2 ** 16 + input.getUint8(length >> 1) * 2 ** 24
      + input.getUint8(length - 1) + length * 2 ** 8;
    const key = BigInt((secret.getUint32(0, true) ^ secret.getUint32(4, true)) >>> 0) + seed;
    return avalancheOfXxh64(BigInt(combined) ^ key & MASK);
  }
  return avalancheOfXxh64(seed ^ at(56) ^ at(64));
}

function mix16(input, at, secret, key, seed) {
  return foldProduct(
    input.getBigUint64(at, true) ^ secret.getBigUint64(key, true) + seed & MASK,
    input.getBigUint64(at + 8, true) ^ secret.getBigUint64(key + 8, true) - seed & MASK,
  );
}

function upTo240(input, secret, seed) {
  const length = input.byteLength;
  let sum = BigInt(length) * PRIME64_1;
  if (length <= 128) {
    for (let i = Math.ceil(length / 32) - 1; i >= 0; i -= 1) {
      sum += mix16(input, 16 * i, secret, 32 * i, seed);
      sum += mix16(input, length - 16 * (i + 1), secret, 32 * i + 16, seed);
    }
    return avalanche(sum);
  }
  for (let i = 0; i < 8; i += 1) sum += mix16(input, 16 * i, secret, 16 * i, seed);
  sum = avalanche(sum);
  for (let i = 8; i < Math.floor(length / 16); i += 1) {
    sum += mix16(input, 16 * i, secret, 16 * (i - 8) + 3, seed);
  }
  return avalanche(sum + mix16(input, length - 16, secret, 136 - 17, seed));
}

function seededSecret(seed) {
  const secret = viewOf(SECRET.slice());
  for (let at = 0; at < SECRET_BYTES; at += 16) {
    secret.setBigUint64(at, secret.getBigUint64(at, true) + seed, true);
    secret.setBigUint64(at + 8, secret.getBigUint64(at + 8, true) - seed, true);
  }
  return secret;
}

function accumulate(lanes, input, at, secret, key) {
  for (let i = 0; i < 8; i += 1) {
    const value = input.getBigUint64(at + 8 * i, true);
    const keyed = value ^ secret.getBigUint64(key + 8 * i, true);
    lanes[i ^ 1] = lanes[i ^ 1] + value & MASK;
    lanes[i] = lanes[i] + (keyed & 0xffffffffn) * (keyed >> 32n) & MASK;
  }
}

function scramble(lanes, secret) {
  for (let i = 0; i < 8; i += 1) {
    const keyed = lanes[i] ^ lanes[i] >> 47n
      ^ secret.getBigUint64(SECRET_BYTES - STRIPE_BYTES + 8 * i, true);
    lanes[i] = keyed * PRIME32_1 & MASK;
  }
}

function above240(input, seed) {
  const length = input.byteLength;
  const secret = seededSecret(seed);
  const lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5,
    PRIME32_1];
  // All but the last byte's stripe, which is taken from the end; scrambled after each full block.
  const stripes = Math.floor((length - 1) / STRIPE_BYTES);
  for (let stripe = 0; stripe < stripes; stripe += 1) {
    const inBlock = stripe % BLOCK_STRIPES;
    accumulate(lanes, input, stripe * STRIPE_BYTES, secret, inBlock * SECRET_STEP);
    if (inBlock === BLOCK_STRIPES - 1) scramble(lanes, secret);
  }
  accumulate(lanes, input, length - STRIPE_BYTES, secret, SECRET_BYTES - STRIPE_BYTES - 7);
  let sum = BigInt(length) * PRIME64_1;
  for (let i = 0; i < 4; i += 1) {
    sum += foldProduct(lanes[2 * i] ^ secret.getBigUint64(11 + 16 * i, true),
      lanes[2 * i + 1] ^ secret.getBigUint64(19 + 16 * i, true));
  }
  return avalanche(sum);
}

/** @param bytes Uint8Array. @returns the sum as a BigInt. */
export function xxh3(bytes, seed = 0n) {
  const input = viewOf(bytes);
  if (bytes.length > 240) return above240(input, seed);
  return bytes.length > 16 ? upTo240(input, viewOf(SECRET), seed)
    : upTo16(input, viewOf(SECRET), seed);
}
