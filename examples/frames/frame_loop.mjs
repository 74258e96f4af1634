// A search in each frame, on the thread that draws, and what it costs that thread.

const kFrameMs = 1000 / 60;
/** A frame that comes so late has left out one before it. */
const kLateMs = 1.5 * kFrameMs;
/** What takes longer than this does not fit into a frame. */
const kLongMs = 16;

export class FrameLoop {
  /** What it has seen so far. Times in milliseconds. */
  figures = {
    frames: 0, versions: 0, sequence: -1, rows: 0, hits: undefined,
    longestFrameMs: 0, lateFrames: 0, longestTaskMs: 0, longTasks: 0, longestSearchMs: 0,
  };
  #reader;
  #queries;
  #options;
  #begun;
  #handle;

  /**
   * @param reader of an index that others write to.
   * @param queries vectors, one for each frame in turn.
   * @param options k; onFrame(figures), called in each frame; nextFrame(callback), for places
   *   without requestAnimationFrame.
   */
  constructor(reader, queries, options = {}) {
    this.#reader = reader;
    this.#queries = queries;
    this.#options = { k: 10, onFrame() {}, nextFrame: requestFrame, ...options };
  }

  start() {
    this.#handle = {};
    this.#begun = undefined;
    this.#next(this.#handle);
  }

  stop() {
    this.#handle = undefined;
  }

  #next(handle) {
    this.#options.nextFrame(() => {
      if (handle !== this.#handle) return;
      this.#frame();
      this.#next(handle);
    });
  }

  #frame() {
    const { figures } = this;
    const { k, onFrame } = this.#options;
    const begun = performance.now();
    if (this.#begun !== undefined) {
      const frameMs = begun - this.#begun;
      figures.longestFrameMs = Math.max(figures.longestFrameMs, frameMs);
      if (frameMs > kLateMs) ++figures.lateFrames;
    }
    this.#begun = begun;
    const hits = this.#reader.search(this.#queries[figures.frames % this.#queries.length], { k });
    figures.longestSearchMs = Math.max(figures.longestSearchMs, performance.now() - begun);
    if (hits.sequence < figures.sequence) {
      throw new Error(`version ${hits.sequence} after ${figures.sequence}`);
    }
    if (hits.sequence > figures.sequence) ++figures.versions;
    figures.sequence = hits.sequence;
    figures.rows = this.#reader.size;
    figures.hits = hits;
    ++figures.frames;
    // What onFrame shows is of this frame, too; what showing it took is in the next one's figures.
    figures.longestTaskMs = Math.max(figures.longestTaskMs, performance.now() - begun);
    onFrame(figures);
    const taskMs = performance.now() - begun;
    figures.longestTaskMs = Math.max(figures.longestTaskMs, taskMs);
    if (taskMs > kLongMs) ++figures.longTasks;
  }
}

function requestFrame(callback) {
  requestAnimationFrame(callback);
}
