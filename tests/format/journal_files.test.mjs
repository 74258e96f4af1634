// Files of random writes, as the core's journal leaves them at any time, read by docs/format.md.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readLog } from './read_file.mjs';
import { textOf } from './rows_text.mjs';

const program = fileURLToPath(new URL('../../build/native/tests/vicinal_test_golden',
  import.meta.url));
let folder;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'vicinal-journal-files-'));
  execFileSync(program, ['--gtest_filter=JournalFiles.*'],
    { env: { ...process.env, VICINAL_LOG_FILES: folder } });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('every file has the rows that the core finds in it', () => {
  const names = readdirSync(folder).filter((name) => name.endsWith('.vic'));
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) {
    const read = textOf(readLog(new Uint8Array(readFileSync(path.join(folder, name)))));
    const rows = readFileSync(path.join(folder, name.replace('.vic', '.rows')), 'utf8');
    expect(read === rows, name).toBe(true);
  }
});
