// The script of the package's workers: an index's writer or helper, or who searches or encodes for
// a realm.
//
// I1: a writer's and a helper's thread sleeps in the core and never returns to its event loop until
//     it is told to stop by the control word; but for one that follows a file, which returns there
//     to look at it.
import type { Handle } from './backend/core_backend.js';
import type { FileRequest } from './backend/home.js';
import { ThreadInstance } from './backend/thread_instance.js';
import { VicinalError, messageOf, type CoreStatus } from './errors.js';
import { fileError, flushError } from './files/file_errors.js';
import { addFile, type Renew } from './files/index_file.js';
import { kTellBytes } from './files/open_index_file.js';
import { importNode, isNode } from './platform/environment.js';
import {
  isOurs, type FromWorker, type ToldError, type ToWorker,
} from './platform/worker_protocol.js';

const kBatchUs = 1000;
/** A wake-up cannot be lost; this bounds what a mistake in that claim would cost. */
const kSleepMs = 1000;
/** How late a follower may hear of what others have written. */
const kFollowMs = 20;
/** So often a follower has looked before it counts as one that works. */
const kLooksMin = 20;
const kTurnsMax = 100;

type Post = (message: FromWorker) => void;
type Message<Kind> = Extract<ToWorker, { vicinal: Kind }>;

async function write(job: Message<'write'>, post: Post): Promise<void> {
  const instance = await ThreadInstance.attach(job.heap);
  const { backend, words, files } = instance;
  const toldToStop = (): boolean => Atomics.load(words, job.control >>> 2) !== 0;
  post({ vicinal: 'ready', life: instance.lockedLife });
  let { index } = job;
  let renew: Renew;
  if (job.file) {
    try {
      renew = await addFile(files, job.file.spec, toldToStop);
      if (index === 0) index = await openAgain(instance, job.file, renew, toldToStop, post);
    } catch (error) {
      instance.leave();
      throw error;
    }
  }
  const doorbell = backend.doorbell(index) >>> 2;
  let looks = 0;
  while (!toldToStop()) {
    const rung = Atomics.load(words, doorbell);
    if (job.file?.readOnly) {
      await renew?.().catch(() => undefined);  // whoever writes may be replacing it
      backend.refreshIndex(index);
      if (++looks === kLooksMin) post({ vicinal: 'following' });
      Atomics.wait(words, doorbell, rung, kFollowMs);
      continue;
    }
    while (backend.pump(index, kBatchUs) > 0) {
      post({ vicinal: 'applied' });
      if (job.file) flush(instance, index, post);  // writes may come without end
    }
    if (job.file) flush(instance, index, post);
    Atomics.wait(words, doorbell, rung, kSleepMs);
  }
  const error = job.file && told(backend.closeFile(index), instance);
  instance.leave();
  post({ vicinal: 'stopped', error });
}

/** The same, of a file that others may write to meanwhile: what they do may spoil the reading. */
async function openAgain(
  instance: ThreadInstance, file: FileRequest, renew: Renew, toldToStop: () => boolean, post: Post,
): Promise<Handle> {
  for (let turn = 1;; ++turn) {
    try {
      return openFile(instance, file, toldToStop, post);
    } catch (error) {
      const spoiled = error instanceof VicinalError && error.code === 'IO';
      if (!renew || !spoiled) throw error;
      if (turn === kTurnsMax) {
        throw new VicinalError('BUSY', `${file.spec.path}: it is written to without a pause in`
          + ' which it could be read: try again');
      }
      await renew().catch(() => undefined);
    }
  }
}

/** The index that the file has, which is the other realm's from now on. */
function openFile(
  { backend, files }: ThreadInstance, { spec, create, maxBytes, readOnly }: FileRequest,
  toldToStop: () => boolean, post: Post,
): Handle {
  let told = 0;
  files.onRead = (bytes) => {
    if (bytes - told >= kTellBytes) {
      told = bytes;
      post({ vicinal: 'reading', bytes });
    }
    return toldToStop();
  };
  try {
    const loaded = backend.openFile(spec.path, create, maxBytes, readOnly);
    post({ vicinal: 'opened', loaded });
    return loaded.index;
  } catch (error) {
    throw error instanceof VicinalError ? fileError(error, spec.path, files) : error;
  } finally {
    files.onRead = undefined;
  }
}

function flush(instance: ThreadInstance, index: Handle, post: Post): void {
  const flushed = instance.backend.serveFlush(index);
  if (!flushed) return;
  post({ vicinal: 'flushed', asks: flushed.asks, error: told(flushed.status, instance) });
}

function told(status: CoreStatus, { files }: ThreadInstance): ToldError | undefined {
  const error = flushError(status, files);
  return error && { code: error.code, message: error.message };
}

async function help(job: Message<'help'>, post: Post): Promise<void> {
  const instance = await ThreadInstance.attach(job.heap);
  const { backend, words } = instance;
  const toldToStop = (): boolean => Atomics.load(words, job.control >>> 2) !== 0;
  if (!toldToStop()) {
    const helper = backend.openHelper(job.index);
    post({ vicinal: 'ready', life: instance.lockedLife });
    while (!toldToStop()) backend.help(helper, kSleepMs * 1000);
    backend.closeHelper(helper);
  }
  instance.leave();
  post({ vicinal: 'stopped' });
}

function search(instance: ThreadInstance, job: Message<'search'>, post: Post): void {
  const { call } = job;
  try {
    const found = instance.backend.search(job.reader, job.query, job.request);
    post({ vicinal: 'found', call, found });
  } catch (error) {
    if (!(error instanceof VicinalError)) throw error;
    post({ vicinal: 'failed', call, code: error.code, message: error.message });
  }
}

function encode(instance: ThreadInstance, job: Message<'encode'>, post: Post): void {
  const { message, first, count, vectors } = job.rows;
  const status = instance.backend.encodeApart(message, first, count, vectors);
  post({ vicinal: 'encoded', call: job.call, status });
}

/** Messages in, one after the other: what must be awaited holds up those behind it. */
function serve(post: Post): (message: unknown) => void {
  let serving: Promise<ThreadInstance> | undefined;
  let turn: Promise<void> = Promise.resolve();
  const handle = async (message: ToWorker): Promise<void> => {
    if (message.vicinal === 'write') await write(message, post);
    if (message.vicinal === 'help') await help(message, post);
    if (message.vicinal === 'serve') {
      serving = ThreadInstance.attach(message.heap, message.parent);
      post({ vicinal: 'ready', life: (await serving).lockedLife });
    }
    if (message.vicinal === 'search' && serving) search(await serving, message, post);
    if (message.vicinal === 'encode' && serving) encode(await serving, message, post);
    if (message.vicinal === 'stop') {
      (await serving)?.leave();
      post({ vicinal: 'stopped' });
    }
  };
  return (message) => {
    if (!isOurs(message)) return;
    turn = turn.then(() => handle(message as ToWorker)).catch((error: unknown) => {
      const code = error instanceof VicinalError ? error.code : 'IO';
      post({ vicinal: 'died', code, message: messageOf(error) });
    });
  };
}

interface NodePort {
  postMessage(message: FromWorker): void;
  on(event: 'message', listener: (message: unknown) => void): void;
}

if (isNode()) {
  // No top-level await: bundlers that make classic scripts of workers refuse it.
  void importNode<{ parentPort: NodePort | null }>('worker_threads').then(({ parentPort }) => {
    parentPort?.on('message', serve((message) => parentPort.postMessage(message)));
  });
} else if (typeof globalThis.document === 'undefined') {
  const scope = globalThis as unknown as { postMessage: Post } & EventTarget;
  const onMessage = serve((message) => scope.postMessage(message));
  // Now, not later: messages that wait are delivered when the script has run.
  scope.addEventListener('message', (event) => onMessage((event as MessageEvent).data));
}
export {};
