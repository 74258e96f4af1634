/** What went wrong, in a word that programs can test. */
export type ErrorCode =
  | 'DIMENSION' | 'NOT_FINITE' | 'DUPLICATE_ID' | 'UNKNOWN_ID' | 'BAD_ID' | 'BAD_OPTION'
  | 'CORRUPT' | 'VERSION' | 'BUSY' | 'FULL' | 'READ_ONLY' | 'CLOSED' | 'ABORTED' | 'UNSUPPORTED'
  | 'WOULD_BLOCK' | 'IO';

/** What stays of a write that has failed. */
export interface Landed {
  /** Rows added, replaced or removed. */
  readonly count: number;
  /** The first version that shows them all. */
  readonly sequence: number;
}

/**
 * Every error of this package. Errors that a caller's own callback or iterator throws pass
 * unchanged.
 */
export class VicinalError extends Error {
  override readonly name = 'VicinalError';
  readonly code: ErrorCode;
  /** Of a write with `atomic: false`, when some of its parts have landed. */
  declare readonly landed?: Landed;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions, landed?: Landed) {
    super(message, options);
    this.code = code;
    if (landed) this.landed = landed;
  }
}

/** The outcome of a core call: a code (0 = ok) and two numbers whose meaning depends on it. */
export interface CoreStatus {
  readonly code: number;
  readonly a: bigint;
  readonly b: bigint;
}

/** By number of the core's Code. The order is part of the boundary: append, never reorder. */
const kCodes: readonly (ErrorCode | 'OK')[] = [
  'OK', 'DIMENSION', 'NOT_FINITE', 'DUPLICATE_ID', 'UNKNOWN_ID', 'BAD_ID', 'BAD_OPTION', 'CORRUPT',
  'VERSION', 'BUSY', 'FULL', 'READ_ONLY', 'CLOSED', 'ABORTED', 'UNSUPPORTED', 'WOULD_BLOCK', 'IO',
];

/** By number of the core's OptionName. */
const kOptions: readonly string[] = [
  'an option', 'dim', 'metric', 'bits', 'originals', 'partitions', 'seed', 'k', 'certainty',
  'minScore', 'after', 'filter', 'maxBytes', 'readers', 'ids.length', 'handle', 'path', 'sample',
  'calibrate', 'write', 'helpers', 'ids', 'durable', 'rerank',
];

/** Options that are refused for a reason of their own, by their place above. */
const kReasons: Record<number, string> = {
  10: 'after is no hit, or of a search that ranks by originals: all pages need rerank: 0',
  15: 'the write is of another index, has rows that were not encoded, or was submitted before',
  17: 'sample: fewer rows than a calibration needs (32)',
  18: 'calibrate: the index has rows, whose codes would mean other vectors',
  19: 'the index was calibrated after this write was made: make it again',
  23: 'rerank: the index keeps no originals',
};

/** By number of the core's BadId. */
const kBadIds: readonly ((row: bigint) => string)[] = [
  () => 'an id is not a non-negative integer of the allowed range',
  () => 'the ids of this index are numbers, not strings',
  () => 'the ids of this index are strings, not numbers',
  (row) => `the id of row ${row} has more than 65,535 bytes`,
];

/** As core/base/status.cpp words them; an option has its name of this language. */
const kSentences: Record<ErrorCode, (a: bigint, b: bigint) => string> = {
  DIMENSION: (a, b) => `a vector has ${a} coordinates where ${b} were expected`,
  NOT_FINITE: (a, b) =>
    `coordinate ${b} of row ${a} is not finite or its magnitude is 1e16 or more`
    + ' (65,520 for originals of float16)',
  DUPLICATE_ID: (a, b) => `${b === 0n ? `id ${a}` : `the id of row ${a}`} is already present, or`
    + ' comes twice in this write',
  UNKNOWN_ID: (a, b) => b === 0n ? `id ${a} is not present` : 'the id is not present',
  BAD_ID: (a, b) => kBadIds[Number(b)]?.(a) ?? kBadIds[0]!(a),
  BAD_OPTION: (a) => kReasons[Number(a)]
    ?? `${kOptions[Number(a)] ?? kOptions[0]} is outside its documented range`,
  CORRUPT: () => 'the data is damaged: it fails its checksum or its bounds',
  VERSION: () => 'the file was written by a newer version',
  BUSY: (a, b) => b === 0n && a !== 0n ? `process ${a} has the file open for writing`
    : 'there are as many readers, helpers or waiting writes as there can be, or readers'
      + ` hold back too much memory${limit(a, b)}`,
  FULL: (a, b) => `the memory budget is reached${limit(a, b)}`,
  READ_ONLY: () => 'the index cannot be written to any more',
  CLOSED: () => 'the index or reader is closed',
  ABORTED: () => "the caller's signal stopped the operation",
  UNSUPPORTED: (a) => unsupportedSentence(kOptions[Number(a)]),
  WOULD_BLOCK: () => 'the operation would wait where waiting is not allowed',
  IO: (a) => `the operating system refused the operation (errno ${a})`,
};

function unsupportedSentence(option: string | undefined): string {
  if (option === 'originals') return 'originals: an index that keeps originals cannot be saved yet';
  const named = option !== undefined && option !== kOptions[0];
  return `${named ? `${option}: ` : ''}this build or platform cannot do it`;
}

function limit(inUse: bigint, most: bigint): string {
  if (most === 0n) return inUse === 0n ? '' : ` (${inUse} asked for)`;
  return ` (${inUse} of ${most} in use)`;
}

/** The error that a core status stands for. */
export function statusError(status: CoreStatus): VicinalError {
  const code = kCodes[status.code];
  if (code === undefined || code === 'OK') {
    return new VicinalError('VERSION', `the core answered with the unknown code ${status.code}`);
  }
  return new VicinalError(code, kSentences[code](status.a, status.b));
}

/** The same of a call that is BUSY only where all reader slots are taken. */
export function readerError(status: CoreStatus): VicinalError {
  const error = statusError(status);
  if (error.code !== 'BUSY') return error;
  return new VicinalError('BUSY', `all reader slots are taken${limit(status.a, status.b)}:`
    + ' close readers or snapshots');
}

/**
 * The same of a write's outcome, which is BUSY only where old versions are too large. `idOf` names
 * the row of a string.
 */
export function writeError(status: CoreStatus, idOf: (row: number) => string): VicinalError {
  const error = statusError(status);
  if (error.code === 'DUPLICATE_ID' && status.b !== 0n) {
    const id = JSON.stringify(idOf(Number(status.a)));
    return new VicinalError('DUPLICATE_ID',
      error.message.replace(`the id of row ${status.a}`, () => `id ${id}`));
  }
  if (error.code !== 'BUSY') return error;
  return new VicinalError('BUSY', `readers hold back too much memory of old versions`
    + ` (${status.a} of ${status.b} bytes): close snapshots, or let readers move on`);
}

/** The same of a search, whose only rows with coordinates are queries: `what` is this one. */
export function queryError(status: CoreStatus, what: string): VicinalError {
  const error = statusError(status);
  if (error.code !== 'NOT_FINITE') return error;
  return new VicinalError(error.code, error.message.replace(`row ${status.a}`, what));
}

/** The same for some rows of a write: of those before them the core knows nothing. */
export function rowError(status: CoreStatus, before: number): VicinalError {
  const { a } = status;
  const error = kCodes[status.code] === 'NOT_FINITE';
  return statusError(error ? { ...status, a: a + BigInt(before) } : status);
}

/** The error of a write of whose parts some have landed; what is not ours passes unchanged. */
export function withLanded(error: unknown, landed: Landed | undefined): unknown {
  if (!landed || !(error instanceof VicinalError)) return error;
  return new VicinalError(error.code, `${error.message}; ${landed.count} rows of earlier parts of`
    + ' this write stay (atomic: false)', { cause: error.cause ?? error }, landed);
}

/** CLOSED, with the handle's kind in its message. */
export function closedError(what: string): VicinalError {
  return new VicinalError('CLOSED', `the ${what} is closed`);
}

/** UNSUPPORTED: something that the types promise and this version does not have. */
export function unsupported(what: string): VicinalError {
  return new VicinalError('UNSUPPORTED', `${what}: not in this version`);
}

/** Throws ABORTED, the signal's reason as its cause, when the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortedError(signal);
}

export function abortedError(signal: AbortSignal): VicinalError {
  const status = { code: kCodes.indexOf('ABORTED'), a: 0n, b: 0n };
  return new VicinalError('ABORTED', statusError(status).message, { cause: signal.reason });
}

/** The promise, or ABORTED as soon as the signal fires. What it does goes on regardless. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(abortedError(signal));
    if (signal.aborted) {
      promise.catch(() => undefined);  // nobody waits for it
      return abort();
    }
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** A short text for any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
