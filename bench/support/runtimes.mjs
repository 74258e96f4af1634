// Where the measuring half of a web benchmark runs: in this process, or in a page of Chromium.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
const DATA = '/data-of-the-run/';

/** Serves the repository, and each array of `data` under its name. */
function serve(data) {
  const bytesOf = ({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength);
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    try {
      const body = pathname === '/' ? '<!doctype html><link rel="icon" href="data:,">'
        : pathname.startsWith(DATA) ? bytesOf(data[pathname.slice(DATA.length)])
        : await readFile(path.join(ROOT, path.normalize(pathname)));
      const type = TYPES[path.extname(pathname)] ?? 'text/html';
      response.writeHead(200, { 'Content-Type': type, ...HEADERS }).end(body);
    } catch {
      response.writeHead(404, HEADERS).end();
    }
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

const open = {
  async node(module, data) {
    const run = await import(new URL(`../../${module}`, import.meta.url));
    return {
      version: process.version, close() {},
      call: (name, options) => run[name]({ ...options, ...data }),
    };
  },
  async chromium(module, data) {
    const server = await serve(data);
    const browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
        '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    });
    const page = await browser.newPage();
    page.setDefaultTimeout(0);
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const call = (name, options) => page.evaluate(async ([file, folder, names, wanted, given]) => {
      const run = await import(file);
      const arrays = await Promise.all(names.map(async (each) => {
        const response = await fetch(folder + each);
        return [each, new Float32Array(await response.arrayBuffer())];
      }));
      return run[wanted]({ ...given, ...Object.fromEntries(arrays) });
    }, [`/${module}`, DATA, Object.keys(data), name, options]);
    const close = async () => {
      await browser.close();
      server.close();
    };
    return { version: browser.version(), call, close };
  },
};

/**
 * The functions of `module`, a path in the repository: { version, call(name, options), close() }.
 * What they are called with is cloned on its way to a page, and so is what they answer.
 * @param data Float32Arrays that every call gets beside its options.
 */
export function openRuntime(runtime, module, data = {}) {
  return open[runtime](module, data);
}
