// Fails the build when a shared-memory module imports a function that the loader does not provide.
//
// wasm-ld runs with --allow-undefined, because the loader does provide a few: without this check a
// missing symbol would become an import that throws in the visitor's page.
import { readFileSync, rmSync } from 'node:fs';

const PROVIDED = new Set([
  'memory', // the shared memory
  'abort', // an assertion of ours, or of libc++
  'emscripten_get_now', // performance.now, in milliseconds
  'emscripten_resize_heap', // always refuses: a shared memory never grows
]);

const file = process.argv[2];
const module = new WebAssembly.Module(readFileSync(file));
const foreign = WebAssembly.Module.imports(module)
  .filter(({ module: from, name }) => from !== 'vicinal' && !PROVIDED.has(name))
  .map(({ module: from, name }) => `${from}.${name}`);
if (foreign.length > 0) {
  rmSync(file);
  console.error(`${file}: imports that no loader provides: ${foreign.join(', ')}`);
  process.exit(1);
}
