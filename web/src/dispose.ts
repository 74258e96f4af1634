// The disposal symbols, where the platform lacks them: those that esbuild and Babel compile `using`
// to. Nothing global is changed.

export const kDispose: typeof Symbol.dispose =
  Symbol.dispose ?? (Symbol.for('Symbol.dispose') as typeof Symbol.dispose);

export const kAsyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose);
