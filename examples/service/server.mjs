// node examples/service/server.mjs [--port 8080] [--workers N] [--dim 384] [--bits 4]
//   [--metric cosine] [--max-bytes N]
//
// A search service on the loopback interface; SIGTERM or Ctrl+C ends it when what is under way has
// been answered. Build the package first: npm run build -- wasm types.
import { parseArgs } from 'node:util';
import { Service } from './service.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8080' },
    workers: { type: 'string' },
    dim: { type: 'string' },
    bits: { type: 'string' },
    metric: { type: 'string' },
    'max-bytes': { type: 'string' },
  },
});
const { metric, ...rest } = values;
const numbers = Object.fromEntries(Object.entries(rest).map(([name, text]) =>
  [name === 'max-bytes' ? 'maxBytes' : name, Number(text)]));

let service;
try {
  service = await Service.start({ ...numbers, ...(metric === undefined ? {} : { metric }) });
} catch (error) {
  console.error(`The service could not start: ${error.message}`);
  process.exit(1);
}

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, async () => {
    await service.close();
    console.log('The service has ended.');
  });
}
console.log(`The service is at http://127.0.0.1:${service.port}/`
  + ` with ${service.ports.length} threads (Ctrl+C ends it)`);
