// Where the files beside this one are. The literals stay inside their `new URL`: bundlers match the
// text.

/** A build of the core. Without threads there is one, with the instructions of 'wasm'. */
export interface Variant {
  readonly threads: boolean;
  /** 'wasm': the 128-bit instructions that every engine of today has; 'relaxed': newer ones. */
  readonly simd: 'scalar' | 'wasm' | 'relaxed';
}

export function wasmUrl({ threads, simd }: Variant): URL {
  if (!threads) return new URL('./vicinal-single.wasm', import.meta.url);
  switch (simd) {
    case 'scalar': return new URL('./vicinal-scalar.wasm', import.meta.url);
    case 'wasm': return new URL('./vicinal.wasm', import.meta.url);
    case 'relaxed': return new URL('./vicinal-relaxed.wasm', import.meta.url);
  }
}

export function workerUrl(): URL {
  return new URL('./worker.js', import.meta.url);
}

/** A module worker of this package in a browser. */
export function spawnWebWorker(): Worker {
  if (isForeign(import.meta.url)) return spawnForeignWorker(workerUrl());
  return new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'vicinal' });
}

/** A module worker that runs the script of another address. */
export function spawnWebWorkerAt(url: URL): Worker {
  if (isForeign(url.href)) return spawnForeignWorker(url);
  return new Worker(url, { type: 'module', name: 'vicinal' });
}

function isForeign(url: string): boolean {
  const { protocol, origin } = new URL(url);
  return /^https?:$/.test(protocol) && origin !== globalThis.location?.origin;
}

// Browsers refuse a worker of another origin (a CDN), but not one of ours that imports it.
function spawnForeignWorker(url: URL): Worker {
  const code = new Blob([`import ${JSON.stringify(url.href)};`], { type: 'text/javascript' });
  const address = URL.createObjectURL(code);
  const worker = new Worker(address, { type: 'module', name: 'vicinal' });
  // The fetch of `address` has begun; the worker's first message comes after it.
  worker.addEventListener('message', () => URL.revokeObjectURL(address), { once: true });
  return worker;
}
