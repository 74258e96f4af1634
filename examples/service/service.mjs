// A search service: one index in shared memory, worker threads that each answer searches, and this
// thread, which owns the index, writes to it, and keeps the threads alive.
//
// How a connection finds a thread. Node's cluster shares ports between processes, which share no
// memory; a socket cannot be posted to a thread; and `reusePort`, with which all threads could
// listen on one port, came with Node 22. So each thread listens on a loopback port of its own and
// this one passes connections on, in turn and without looking into them: bytes, no HTTP, no JSON.
//
// I1: a thread that ends is replaced, after a pause that grows while threads do not live long.
// I2: the index outlives its threads: what a thread held when it ended is given back by the
//     package, and no other thread notices.
// I3: writes that wait are counted, and refused with BUSY beyond `writesMax`.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { VectorIndex } from 'vicinal';

const kPauseMsMax = 5_000;
/** A thread that has lived for so long was not at fault from the beginning. */
const kSettledMs = 10_000;

export const defaults = {
  dim: 384, metric: 'cosine', bits: 4, maxBytes: 2 ** 30,
  workers: Math.max(1, availableParallelism() - 1), host: '127.0.0.1', port: 0,
  bodyBytes: 2 ** 23, kMax: 1000, writesMax: 64, connectionsMax: 10_000, drainMs: 5_000,
};

export class Service {
  #options;
  #index;
  #front;
  #threads;
  #sockets = new Set();
  #turn = 0;
  #writes = 0;
  #replaced = 0;
  #closing;

  /** Resolves when every thread answers. See `defaults` for the options. */
  static async start(options = {}) {
    const service = new Service();
    service.#options = { ...defaults, ...options };
    const { dim, metric, bits, maxBytes, workers } = service.#options;
    if (!Number.isSafeInteger(workers) || workers < 1) {
      throw new RangeError(`workers: found ${workers}, expected an integer from 1 on`);
    }
    service.#index = await VectorIndex.create({ dim, metric, bits }, { maxBytes });
    service.#threads = Array.from({ length: workers }, (_, number) => (
      { number, worker: undefined, port: undefined, pauseMs: 0 }));
    try {
      await Promise.all(service.#threads.map((thread) => service.#launch(thread)));
      await service.#listen();
    } catch (error) {
      await service.close();
      throw error;
    }
    return service;
  }

  /** Where the service listens. */
  get port() {
    return this.#front.address().port;
  }

  /** Where the threads listen, those of them that live. */
  get ports() {
    return this.#threads.map(({ port }) => port).filter((port) => port !== undefined);
  }

  get index() {
    return this.#index;
  }

  /** The worker of a thread, for those who want to see what its death does. */
  worker(number) {
    return this.#threads[number].worker;
  }

  /** Takes no more connections, answers what is under way, ends the threads and the index. */
  close() {
    return this.#closing ??= this.#end();
  }

  async #end() {
    this.#front?.close();
    const { drainMs } = this.#options;
    await Promise.all(this.#threads.map(async ({ worker }) => {
      if (!worker) return;
      const exited = new Promise((resolve) => { worker.once('exit', resolve); });
      worker.postMessage({ drain: true });
      const late = setTimeout(() => worker.terminate(), 2 * drainMs);
      await exited;
      clearTimeout(late);
    }));
    for (const socket of this.#sockets) socket.destroy();
    await this.#index.close();
  }

  /** Resolves when the thread answers; rejects when it ends before. */
  #launch(thread) {
    const { bodyBytes, kMax, drainMs } = this.#options;
    const worker = new Worker(new URL('worker.mjs', import.meta.url), {
      name: `search ${thread.number}`,
      workerData: {
        handle: this.#index.share(), number: thread.number, limits: { bodyBytes, kMax, drainMs },
      },
    });
    thread.worker = worker;
    const began = performance.now();
    return new Promise((resolve, reject) => {
      let reason = new Error('it ended');
      worker.on('error', (error) => { reason = error; });
      worker.on('message', (message) => {
        if (message.ready === undefined) return this.#answer(worker, message);
        thread.port = message.ready;
        resolve();
      });
      worker.on('exit', () => {
        const answered = thread.port !== undefined;
        thread.worker = thread.port = undefined;
        if (!answered) reject(new Error(`thread ${thread.number}: ${reason.message}`));
        if (answered && !this.#closing) this.#replace(thread, performance.now() - began);
      });
    });
  }

  #replace(thread, livedMs) {
    ++this.#replaced;
    thread.pauseMs = livedMs > kSettledMs ? 0 : Math.min(kPauseMsMax, 2 * thread.pauseMs + 10);
    setTimeout(() => {
      if (this.#closing) return;
      this.#launch(thread).catch((error) => {
        console.error(error.message);
        if (!this.#closing) this.#replace(thread, 0);
      });
    }, thread.pauseMs);
  }

  async #answer(worker, { call, kind, ids, vectors }) {
    try {
      worker.postMessage({ call, result: await this.#do(kind, ids, vectors) });
    } catch ({ code, message }) {
      worker.postMessage({ call, error: { code, message } });
    }
  }

  async #do(kind, ids, vectors) {
    if (kind === 'stats') {
      const workers = this.ports.length;
      return { service: { workers, replaced: this.#replaced, writes: this.#writes } };
    }
    const { writesMax } = this.#options;
    if (this.#writes >= writesMax) {
      throw Object.assign(new Error(`${writesMax} writes are waiting already`), { code: 'BUSY' });
    }
    ++this.#writes;
    try {
      if (kind === 'add') return await this.#index.add(ids, vectors);
      if (kind === 'upsert') return await this.#index.upsert(ids, vectors);
      return await this.#index.remove(ids);
    } finally {
      --this.#writes;
    }
  }

  async #listen() {
    const { host, port, connectionsMax } = this.#options;
    this.#front = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      this.#pass(client);
    });
    this.#front.maxConnections = connectionsMax;
    this.#front.listen(port, host);
    await once(this.#front, 'listening');
  }

  /** Joins a client to the thread whose turn it is. When one side breaks, so does the other. */
  #pass(client) {
    const ports = this.ports;
    if (ports.length === 0) return client.destroy();
    const port = ports[this.#turn++ % ports.length];
    const server = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    for (const [from, to] of [[client, server], [server, client]]) {
      this.#sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        if (!from.readableEnded) to.destroy();
      });
      from.pipe(to);
    }
  }
}
