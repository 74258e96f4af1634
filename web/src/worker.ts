// The script of the package's workers: an index's writer or helper, or who searches or encodes for
// a realm.
//
// I1: a writer's and a helper's thread sleeps in the core and never returns to its event loop until
//     it is told to stop by the control word.
import { ThreadInstance } from './backend/thread_instance.js';
import { VicinalError, messageOf } from './errors.js';
import { importNode, isNode } from './platform/environment.js';
import { isOurs, type FromWorker, type ToWorker } from './platform/worker_protocol.js';

const kBatchUs = 1000;
/** A wake-up cannot be lost; this bounds what a mistake in that claim would cost. */
const kSleepMs = 1000;

type Post = (message: FromWorker) => void;
type Message<Kind> = Extract<ToWorker, { vicinal: Kind }>;

async function write(job: Message<'write'>, post: Post): Promise<void> {
  const instance = await ThreadInstance.attach(job.heap);
  const { backend, words } = instance;
  const doorbell = job.doorbell >>> 2;
  post({ vicinal: 'ready', life: instance.lockedLife });
  while (Atomics.load(words, job.control >>> 2) === 0) {
    const rung = Atomics.load(words, doorbell);
    while (backend.pump(job.index, kBatchUs) > 0) post({ vicinal: 'applied' });
    Atomics.wait(words, doorbell, rung, kSleepMs);
  }
  instance.leave();
  post({ vicinal: 'stopped' });
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
