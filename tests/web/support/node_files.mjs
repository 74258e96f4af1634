// Folders and files of a test in Node.
import fs from 'node:fs';
import { onTestFinished } from 'vitest';
import { VectorIndex } from 'vicinal';
import { FileTable } from '../../../dist/files/file_table.js';
import { temporaryFolder } from '../../cli/support/command.mjs';

/** Gone after the test. */
export function folder() {
  const made = temporaryFolder();
  onTestFinished(() => made.remove());
  return made;
}

/** Closed after the test. */
export async function open(file, options) {
  const index = await VectorIndex.open(file, options);
  onTestFinished(() => index.close());
  return index;
}

/** How many files this process has open. */
export const openFiles = () => fs.readdirSync('/proc/self/fd').length;

/** Files that an index of this realm lives in throw its `error` from now on, while there is one. */
export function failing() {
  const files = { error: undefined };
  const { add } = FileTable.prototype;
  FileTable.prototype.add = function (path, file) {
    const refuse = (run) => (...values) => {
      if (files.error) throw files.error;
      return run(...values);
    };
    add.call(this, path, { ...file, write: refuse(file.write), sync: refuse(file.sync) });
  };
  onTestFinished(() => { FileTable.prototype.add = add; });
  return files;
}

export const noSpace = () => Object.assign(new Error('no space left'), { code: 'ENOSPC' });
