// The page of examples/frames, as the demo's server serves it.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright';
import { expect, onTestFinished, test, vi } from 'vitest';

const server = fileURLToPath(new URL('../../../web/demo/server.mjs', import.meta.url));
const patience = { timeout: 30_000, interval: 10 };

async function startServer() {
  const child = spawn(process.execPath, [server, '0']);
  onTestFinished(() => child.kill());
  let output = '';
  child.stdout.on('data', (text) => { output += text; });
  await vi.waitUntil(() => output.includes('\n'), patience);
  return /http:\/\/127\.0\.0\.1:\d+/.exec(output)[0];
}

async function openPage(address) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'],
  });
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  const problems = [];
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  await page.goto(address);
  return { page, problems };
}

test('it searches in each frame, meets new versions, and nothing goes wrong', async () => {
  const { page, problems } = await openPage(`${await startServer()}/examples/frames/`);
  const number = async (id) => Number((await page.textContent(`#${id}`)).replaceAll(',', ''));
  await expect.poll(() => number('versions'), patience).toBeGreaterThan(5);
  await expect.poll(() => number('frames'), patience).toBeGreaterThan(30);
  expect((await page.textContent('#hits')).split('\n').length).toBe(10);
  await page.check('#paused');
  await page.click('#again');
  await expect.poll(() => number('frames'), patience).toBeGreaterThan(10);
  const paused = await number('versions');
  await page.uncheck('#paused');
  await expect.poll(() => number('versions'), patience).toBeGreaterThan(paused);
  expect(problems).toEqual([]);
});

test.for(['/', '/dist/index.js', '/examples/frames/', '/examples/frames/adding_worker.mjs'])(
  'the server has %s, with the headers that give a page shared memory', async (place) => {
    const { status, headers } = await fetch(`${await startServer()}${place}`);
    expect(status).toBe(200);
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('cross-origin-embedder-policy')).toBe('require-corp');
  });

test.for(['/dist', '/examples/frames'])('the server leads from %s to the folder', async (place) => {
  const answer = await fetch(`${await startServer()}${place}`, { redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([301, `${place}/`]);
});

test.for(['/nothing', '/dist/%2e%2e%2fpackage.json', '/examples/service/server.mjs', '/%',
  '/examples/frames/..%2f..%2fpackage.json', '/%2e%2e%2f%2e%2e%2fpackage.json'])(
  'the server does not have %s', async (place) => {
    expect((await fetch(`${await startServer()}${place}`)).status).toBe(404);
  });
