// The text files of the tree, without what is built or fetched.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const SKIPPED = new Set(['.git', 'build', 'dist', 'node_modules']);
const SUFFIXES = 'cpp|hpp|h|c|ts|mts|mjs|js|json|cmake|in|txt|md|html|css|sh|pml|yml';
const TEXT = new RegExp(String.raw`\.(?:${SUFFIXES})$|^[^.]+$|^\.[a-z-]+$`);

/** @returns [{ path, text }], paths relative to the root, with forward slashes. */
export function treeFiles() {
  const files = [];
  const visit = (directory) => {
    for (const entry of readdirSync(path.join(ROOT, directory), { withFileTypes: true })) {
      const name = directory === '' ? entry.name : `${directory}/${entry.name}`;
      if (entry.isDirectory() && !(directory === '' && SKIPPED.has(entry.name))) visit(name);
      if (!entry.isFile() || !TEXT.test(entry.name)) continue;
      files.push({ path: name, text: readFileSync(path.join(ROOT, name), 'utf8') });
    }
  };
  visit('');
  return files;
}
