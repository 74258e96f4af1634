// A thread of the main job: its own reader on the shared index, searching without pause.
import { parentPort } from 'node:worker_threads';
import { VectorIndex } from 'vicinal';

let reader;
let queries;
let k;

/** Searches until the flag is set. Latencies in microseconds, and how many versions answered. */
function run(flag) {
  const micros = [];
  let versions = 0;
  let last = -1;
  for (let i = 0; Atomics.load(flag, 0) === 0; i = (i + 1) % queries.length) {
    const started = performance.now();
    const hits = reader.search(queries[i], { k });
    micros.push((performance.now() - started) * 1000);
    if (hits.length !== k || hits.sequence < last) throw new Error('a result that may not be');
    if (hits.sequence !== last) ++versions;
    last = hits.sequence;
  }
  return { micros: Float64Array.from(micros), versions };
}

parentPort.on('message', async (message) => {
  if (message.start) {
    reader = await VectorIndex.attach(message.start);
    ({ k } = message);
    const { dim } = message;
    queries = Array.from({ length: message.queries.length / dim },
      (_, i) => message.queries.subarray(i * dim, (i + 1) * dim));
    for (const query of queries) reader.search(query, { k });  // until the engine has compiled it
    parentPort.postMessage('ready');
  } else if (message.run) {
    parentPort.postMessage(run(message.run));
  } else {
    await reader.close();
    parentPort.postMessage('stopped');
    parentPort.close();
  }
});
