// The demo's server on a tree that was never built.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const server = fileURLToPath(new URL('../../../web/demo/server.mjs', import.meta.url));

test('it says what to run, and ends', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'vicinal-demo-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const folder = path.join(root, 'web', 'demo');
  await mkdir(folder, { recursive: true });
  await cp(server, path.join(folder, 'server.mjs'));
  const { code, stderr } = await new Promise((resolve) => {
    execFile(process.execPath, [path.join(folder, 'server.mjs'), '0'], { timeout: 20_000 },
      (error, _stdout, text) => resolve({ code: error?.code ?? 0, stderr: text }));
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/not built/);
  expect(stderr).toMatch(/npm run build/);
});

test.for(['abc', '-1', '65536', '80.5', '--port'])('%s is no port: one line, and it ends',
  async (port) => {
    const { code, stderr } = await new Promise((resolve) => {
      execFile(process.execPath, [server, port], { timeout: 20_000 },
        (error, _stdout, text) => resolve({ code: error?.code ?? 0, stderr: text }));
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^.* is no port: .*65535\n$/);
  });
