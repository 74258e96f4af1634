// Tabs of one Chromium on one origin, whose files lie on a disk: pages of this package's own that
// are driven from Node, so that they can be ended in any way.
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright';
import { onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/** Serves dist and an empty page; `/plain/` without the headers that isolate. */
async function serve() {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const headers = pathname.startsWith('/plain/') ? {} : ISOLATION;
    const file = pathname.replace(/^\/plain\//, '/');
    try {
      const body = file === '/' ? kPage
        : await readFile(path.join(ROOT, 'dist', path.normalize(file)));
      const type = TYPES[path.extname(file)] ?? 'text/html';
      response.writeHead(200, { 'Content-Type': type, ...headers }).end(body);
    } catch {
      response.writeHead(404, headers).end();
    }
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  onTestFinished(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

// What every tab has: `vicinal`, `codeOf`, and `tell` for what it lets us know without being asked.
// A text, since test runners change imports.
const kPage = `<!doctype html><link rel="icon" href="data:,"><script type="module">
  globalThis.vicinal = await import('./index.js');
  globalThis.codeOf = async (run) => {
    try {
      await run();
      return 'nothing was thrown';
    } catch ({ code, message }) {
      return code + ': ' + message;
    }
  };
  globalThis.isReady = true;
</script>`;

/** { origin, open(tell, folder), context }: `open` gives a tab, a page of Playwright. */
export async function openTabs() {
  const origin = await serve();
  const profile = mkdtempSync(path.join(tmpdir(), 'vicinal-tabs-'));
  onTestFinished(() => rmSync(profile, { recursive: true, force: true }));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  onTestFinished(() => context.close());
  return {
    origin,
    context,
    async open(tell = () => undefined, folder = '/') {
      const page = await context.newPage();
      page.setDefaultTimeout(0);
      await page.exposeFunction('tell', tell);
      await page.goto(origin + folder);
      await page.waitForFunction(() => globalThis.isReady);
      return page;
    },
  };
}

/** The bytes of a file of the tab's origin. */
export async function fileBytes(page, name) {
  const text = await page.evaluate(async (wanted) => {
    const root = await navigator.storage.getDirectory();
    const file = await (await root.getFileHandle(wanted)).getFile();
    const bytes = new Uint8Array(await file.arrayBuffer());
    let binary = '';
    for (let at = 0; at < bytes.length; at += 8192) {
      binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
    }
    return btoa(binary);
  }, name);
  return new Uint8Array(Buffer.from(text, 'base64'));
}
