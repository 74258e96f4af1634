// The package's worker with a clock that can stand still. The core asks for the time when it begins
// a batch of writes and after each write that it has applied, before it publishes them: there the
// worker sleeps until it is let go.
import '../../../dist/worker.js';

const kArmed = 0;  // how many readings of the clock from now; 0 means none
const kAsleep = 1;

let words;
let stood;
const now = performance.now.bind(performance);

performance.now = () => {
  if (!words || Atomics.load(words, kArmed) === 0) return now();
  // Until then no time passes, so that no batch ends because it took long.
  stood ??= now();
  if (Atomics.sub(words, kArmed, 1) === 1) {
    Atomics.store(words, kAsleep, 1);
    Atomics.wait(words, kAsleep, 1);
  }
  const time = stood;
  if (Atomics.load(words, kArmed) === 0) stood = undefined;
  return time;
};

self.addEventListener('message', ({ data }) => {
  if (data.stall) words = data.stall;
});
