// Opening a page in Chromium, cross-origin isolated, with the package under the name its users
// write.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { chromium } from 'playwright';

const TYPES = {
  '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript',
  '.wasm': 'application/wasm', '.json': 'application/json', '.css': 'text/css',
};
const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'cross-origin',
};
const IMPORT_MAP = JSON.stringify({ imports: { vicinal: '/node_modules/vicinal/dist/index.js' } });
// A page may also load the package from a content delivery network: that is answered from here.
const NETWORKS =
  /^https:\/\/(?:cdn\.jsdelivr\.net\/npm|unpkg\.com|esm\.sh)\/vicinal(?:@[\w.-]+)?\/(.*)$/;
const PRINT_TIMEOUT_MS = 30_000;

function serve(folder) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    try {
      const body = await readFile(path.join(folder, path.normalize(pathname)));
      const type = TYPES[path.extname(pathname)] ?? 'application/octet-stream';
      response.writeHead(200, { 'Content-Type': type, ...ISOLATION }).end(body);
    } catch {
      response.writeHead(404, ISOLATION).end();
    }
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

/** The page that runs one module. */
export function pageOf(moduleFile) {
  return `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<script type="importmap">${IMPORT_MAP}</script>
<script type="module" src="/${moduleFile}"></script>`;
}

async function watch(page, origin, file) {
  const printed = [];
  const failure = new Promise((_resolve, reject) => {
    page.on('pageerror', (error) => reject(error));
    page.on('console', (message) => {
      if (message.type() === 'error') reject(new Error(message.text()));
      else printed.push(message.text());
    });
  });
  const firstLine = page.waitForEvent('console', { timeout: PRINT_TIMEOUT_MS });
  // Whichever of the two is not awaited any more when the page closes may still reject.
  failure.catch(() => {});
  firstLine.catch(() => {});
  await Promise.race([failure, page.goto(`${origin}/${file}`)]);
  await Promise.race([failure, firstLine]);
  // What goes wrong right after the first line still counts.
  await Promise.race([failure, page.waitForLoadState('networkidle')]);
  return printed;
}

/**
 * Opens FOLDER/file and waits until it has written to the console.
 * @returns the lines it printed. @throws on an error in the page or on the console.
 */
export async function runPage(folder, file) {
  const server = await serve(folder);
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'],
  });
  try {
    const page = await browser.newPage();
    const root = path.join(folder, 'node_modules', 'vicinal');
    await page.route(NETWORKS, (route) => route.fulfill({
      path: path.join(root, NETWORKS.exec(route.request().url())[1]), headers: ISOLATION,
    }));
    return await watch(page, `http://127.0.0.1:${server.address().port}`, file);
  } finally {
    await browser.close();
    server.close();
  }
}
