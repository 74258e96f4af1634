// npm run demo [-- PORT]: serves the demo page, and the one of examples/frames, on the loopback
// interface, with the headers that give a page shared memory.
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = (place) => fileURLToPath(new URL(place, import.meta.url));
const dist = folder('../../dist/');
/** What is served, by the beginning of its address. */
const folders = {
  '/dist/': dist,
  '/examples/frames/': folder('../../examples/frames/'),
  '/': folder('.'),
};

const types = {
  '.html': 'text/html; charset=utf-8', '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8', '.mjs': 'text/javascript; charset=utf-8',
  '.json': 'application/json', '.wasm': 'application/wasm',
};

const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Content-Security-Policy': "default-src 'self'; script-src 'self' 'wasm-unsafe-eval';"
    + " worker-src 'self'; style-src 'self'; img-src 'self' data:",
  'Cache-Control': 'no-store',
};

/** The file that an address means, or undefined for one that is not ours to serve. */
function fileOf(url) {
  const name = decodeURIComponent(new URL(url, 'http://localhost').pathname);
  const [place, root] = Object.entries(folders).find(([begin]) => name.startsWith(begin));
  const file = path.join(root, name.slice(place.length));
  if (!file.startsWith(root)) return undefined;
  return name.endsWith('/') ? path.join(file, 'index.html') : file;
}

async function answer(request, response) {
  try {
    const { pathname } = new URL(request.url, 'http://localhost');
    if (Object.hasOwn(folders, `${pathname}/`)) {
      response.writeHead(301, { ...headers, Location: `${pathname}/` }).end();
      return;
    }
    const file = fileOf(request.url);
    const { size } = await stat(file);
    const type = types[path.extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, { ...headers, 'Content-Type': type, 'Content-Length': size });
    createReadStream(file).pipe(response);
  } catch {
    response.writeHead(404, headers).end('not found\n');
  }
}

const server = createServer(answer);
server.on('error', (error) => {
  console.error(`The demo could not be served: ${error.message}`);
  process.exitCode = 1;
});

const parts = ['index.js', 'worker.js', 'vicinal.wasm', 'vicinal-relaxed.wasm',
  'vicinal-single.js'];
const missing = parts.filter((name) => !existsSync(path.join(dist, name)));
if (missing.length > 0) {
  console.error(`The package is not built: dist has no ${missing.join(', ')}.\n`
    + 'Run `npm run build -- wasm types`, then `npm run demo` again.');
  process.exit(1);
}

const port = process.argv[2] ?? '8080';
if (!/^\d+$/.test(port) || Number(port) > 65535) {
  console.error(`${port} is no port: npm run demo [-- PORT], a number from 0 to 65535`);
  process.exit(2);
}

server.listen(Number(port), '127.0.0.1', () => {
  const address = `http://127.0.0.1:${server.address().port}/`;
  console.log(`The demo is at ${address}, a search in each frame at ${address}examples/frames/`
    + ' (Ctrl+C ends it)');
});
