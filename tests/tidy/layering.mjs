// The layering table of ARCHITECTURE.md: which directory may include which.

export const LAYERS = {
  base: [],
  platform: ['base'],
  sync: ['base', 'platform'],
  cache: ['base', 'platform', 'sync'],
  simd: ['base'],
  quant: ['base', 'simd'],
  storage: ['base', 'platform', 'sync'],
  segment: ['base', 'sync', 'simd', 'quant', 'storage'],
  search: ['base', 'sync', 'simd', 'quant', 'segment', 'storage'],
  engine: ['base', 'platform', 'sync', 'simd', 'quant', 'storage', 'segment', 'search'],
};

// The public vocabulary: every layer speaks in these types.
const VOCABULARY = new Set(['vicinal/status.hpp', 'vicinal/types.hpp']);

const OTHERS = ['include', 'c', 'wasm', 'node'];

const INCLUDE = /^\s*#\s*include\s+["<]([^">]+)[">]/;

/** The part of the tree that a file belongs to: a layer's name, `include`, `c`, `wasm`, `node`. */
function ownerOf(file) {
  return /^(?:core|bindings)\/(\w+)\//.exec(file)?.[1];
}

function mayInclude(owner, file, included) {
  const [top] = included.split('/');
  if (!included.includes('/')) return !file.startsWith('core/'); // a neighbour in the same folder
  if (included.startsWith('.')) return false;
  if (VOCABULARY.has(included)) return true;
  if (owner === 'include') return top === 'vicinal';
  if (top === 'vicinal') return owner === 'engine' || file.startsWith('bindings/');
  if (file.startsWith('bindings/')) {
    if (owner === 'wasm' || owner === 'node') return top === 'c' || top === owner;
    return top === owner;
  }
  return top === owner || LAYERS[owner].includes(top);
}

/** The edges of one file that the table does not have. */
export function layeringProblems(file, text) {
  const owner = ownerOf(file);
  if (owner === undefined || !(owner in LAYERS || OTHERS.includes(owner))) {
    return [{ line: 1, message: 'not in a directory of the layering table' }];
  }
  const problems = [];
  for (const [index, content] of text.split('\n').entries()) {
    const included = INCLUDE.exec(content)?.[1];
    if (included === undefined) continue;
    const ours = content.includes('"') || included.split('/')[0] in LAYERS
      || included.startsWith('vicinal/');
    if (ours && !mayInclude(owner, file, included)) {
      problems.push({ line: index + 1, message: `${owner} may not include ${included}` });
    }
  }
  return problems;
}
