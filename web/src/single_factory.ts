// The thread-less module's factory, made by Emscripten. Imported statically, though few need it:
// bundlers that make one classic script of a worker refuse whatever is imported on demand.

import type { FileFunctions } from './files/file_table.js';
// @ts-ignore: built from C++, beside this file when both are.
import factory from './vicinal-single.js';

/** What the thread-less module looks like from outside. */
export type SingleFactory = (options: {
  files: FileFunctions;
  instantiateWasm(
    imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void,
  ): object;
}) => Promise<{ readonly HEAPU8: Uint8Array }>;

export const singleFactory: SingleFactory = factory as SingleFactory;
