// Indexes in the memory of the thread-less module: one realm, one thread.
import { VicinalError, throwIfAborted } from '../errors.js';
import type { FoundRows } from '../hits.js';
import { fileError } from '../files/file_errors.js';
import { FileTable } from '../files/file_table.js';
import { addFile } from '../files/index_file.js';
import { yieldToLoop } from '../platform/environment.js';
import type { SearchRequest } from '../search_options.js';
import { singleFactory } from '../single_factory.js';
import type { LoadOptions } from '../types.js';
import type { Handle, LoadedIndex } from './core_backend.js';
import { kCoreFunctions, missingFunction, type CoreExports } from './core_exports.js';
import type {
  Applier, ApplierEvents, FileRequest, Helpers, Home, Searcher,
} from './home.js';
import { InlineWriter } from './inline_writer.js';
import { WasmBackend } from './wasm_backend.js';

type SingleModule = CoreExports & { readonly HEAPU8: Uint8Array };

export class SingleHome implements Home {
  readonly backend: WasmBackend;
  readonly searcher: Searcher;
  readonly encoder = undefined;
  readonly #files: FileTable;

  private constructor(core: SingleModule, files: FileTable) {
    this.#files = files;
    const backend = new WasmBackend(core, () => core.HEAPU8.buffer, false);
    this.backend = backend;
    this.searcher = {
      async search(reader: Handle, query: Float32Array, request: SearchRequest) {
        await yieldToLoop();
        return backend.search(reader, query, request) satisfies FoundRows;
      },
      deathOf: () => undefined,
    };
  }

  /** VERSION, FULL. */
  static async create(module: WebAssembly.Module): Promise<SingleHome> {
    let failed: ((cause: unknown) => void) | undefined;
    const failure = new Promise<never>((_, reject) => { failed = reject; });
    const files = new FileTable();
    let memory = (): ArrayBufferLike => new ArrayBuffer(0);
    const loaded = await Promise.race([failure, singleFactory({
      files: files.functions(() => memory()),
      instantiateWasm(imports, receive) {
        // What a foreign module lacks shows when its exports are received.
        WebAssembly.instantiate(module, imports).then(receive).catch(failed);
        return {};
      },
    })]).catch((cause: unknown) => {
      throw new VicinalError('VERSION', 'the WebAssembly module does not fit this package',
        { cause });
    });
    const missing = missingFunction(loaded, kCoreFunctions);
    if (missing !== undefined) {
      throw new VicinalError('VERSION', `the WebAssembly module has no ${missing}`);
    }
    memory = () => loaded.HEAPU8.buffer;
    return new SingleHome(loaded as SingleModule, files);
  }

  share(): never {
    throw new VicinalError('UNSUPPORTED', 'share: this realm has no shared memory (a page needs'
      + ' to be cross-origin isolated), or the index was created with threads: false');
  }

  startWriter(
    index: Handle, _worker: LoadOptions['worker'], events: ApplierEvents,
  ): Promise<Applier> {
    return Promise.resolve(new InlineWriter(this.backend, index, events));
  }

  async startFileWriter(
    { spec, create, maxBytes }: FileRequest, _worker: LoadOptions['worker'], events: ApplierEvents,
    signal: AbortSignal | undefined,
  ): Promise<{ applier: Applier; loaded: LoadedIndex }> {
    throwIfAborted(signal);
    const files = this.#files;
    await addFile(files, spec, () => signal?.aborted === true);
    try {
      files.onRead = (bytes) => {
        events.onRead?.(bytes);
        return signal?.aborted === true;
      };
      const { path } = spec;
      const loaded = this.backend.openFile(path, create, maxBytes, false);
      const file = { files, path };
      return { applier: new InlineWriter(this.backend, loaded.index, events, file), loaded };
    } catch (error) {
      files.remove(spec.path);
      throw error instanceof VicinalError ? fileError(error, spec.path, files) : error;
    } finally {
      files.onRead = undefined;
    }
  }

  startHelpers(): Promise<Helpers> {
    return Promise.resolve({ stop: () => Promise.resolve() });  // none without threads
  }

  enter(): boolean {
    return true;  // the module stays for the realm's next index
  }

  leave(): Promise<void> {
    return Promise.resolve();
  }
}
