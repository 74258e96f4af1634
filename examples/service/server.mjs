// node examples/service/server.mjs [--port 8080] [--workers N] [--dim 384] [--bits 4]
//   [--metric cosine] [--max-bytes N]
//
// A search service on the loopback interface; SIGTERM or Ctrl+C ends it when what is under way has
// been answered. Build the package first: npm run build -- wasm types.
import { parseArgs } from 'node:util';
import { Service } from './service.mjs';

const kUsage = 'node examples/service/server.mjs [--port 8080] [--workers N] [--dim 384]'
  + ' [--bits 4]\n  [--metric cosine] [--max-bytes N]';

/** What Service.start is given. @throws an Error whose message is all there is to say. */
function optionsOf(args) {
  const text = { type: 'string' };
  const { values } = parseArgs({
    args,
    options: {
      port: { type: 'string', default: '8080' }, workers: text, dim: text, bits: text,
      metric: text, 'max-bytes': text, help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    console.log(`usage: ${kUsage}`);
    process.exit(0);
  }
  const { metric, ...numbers } = values;
  const options = metric === undefined ? {} : { metric };
  for (const [name, value] of Object.entries(numbers)) {
    if (!/^\d+$/.test(value)) throw new Error(`--${name}: found ${value}, expected a whole number`);
    options[name === 'max-bytes' ? 'maxBytes' : name] = Number(value);
  }
  return options;
}

let options;
try {
  options = optionsOf(process.argv.slice(2));
} catch (error) {
  console.error(`${error.message.replaceAll('\n', ' ')}\nusage: ${kUsage}`);
  process.exit(2);
}

let service;
try {
  service = await Service.start(options);
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
