// What the realm we run in can do. Asked when needed, never at import.

interface ProcessLike {
  readonly type?: string;
  readonly versions?: { readonly node?: string };
}

/** Node and what imitates it; an Electron page counts as a page. */
export function isNode(): boolean {
  const { process } = globalThis as { process?: ProcessLike };
  return typeof process?.versions?.node === 'string' && process.type !== 'renderer';
}

/** Whether memory can be shared between threads here. */
export function canShare(): boolean {
  if (typeof SharedArrayBuffer === 'undefined') return false;
  return isNode() || globalThis.crossOriginIsolated === true;
}

/** How many threads can run at once here, at least 1. */
export async function processors(): Promise<number> {
  if (!isNode()) return globalThis.navigator?.hardwareConcurrency ?? 1;
  const { availableParallelism } = await importNode<{ availableParallelism(): number }>('os');
  return availableParallelism();
}

/** Whether this thread may sleep: not a page's main thread. Needs SharedArrayBuffer. */
export function canBlock(): boolean {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1, 0);  // unequal: returns at once
    return true;
  } catch {
    return false;
  }
}

/**
 * A module of Node. The name is no literal, so that bundlers for browsers leave it alone.
 */
export async function importNode<T>(name: string): Promise<T> {
  const specifier = `node:${name}`;
  return await import(/* webpackIgnore: true */ /* @vite-ignore */ specifier) as T;
}

/**
 * Lets the event loop run whatever waits. In pages setTimeout would cost 4 ms each time, so a
 * message does it.
 */
export function yieldToLoop(): Promise<void> {
  const { setImmediate: immediate } = globalThis as { setImmediate?: (run: () => void) => void };
  if (immediate && isNode()) return new Promise((resolve) => immediate(resolve));
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}
