import { describe, expect, it } from 'vitest';
import { ROOT, treeFiles } from './files.mjs';
import { LAYERS } from './layering.mjs';
import { PLATFORM_CONDITION_ALLOWED, rules } from './rules.mjs';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const files = treeFiles();

describe.each(rules)('$name', ({ applies, check, bad, good }) => {
  it('holds in every file it applies to', () => {
    const subject = files.filter(({ path: file }) => applies(file));
    expect(subject).not.toEqual([]);
    const problems = subject.flatMap(({ path: file, text }) =>
      check(file, text).map(({ line, message }) => `${file}:${line}: ${message}`));
    expect(problems).toEqual([]);
  });

  it.each(bad)('flags $file: $text', ({ file, text }) => {
    expect(check(file, text)).not.toEqual([]);
  });

  it.each(good)('leaves alone $file: $text', ({ file, text }) => {
    expect(applies(file) ? check(file, text) : []).toEqual([]);
  });
});

describe('the layering table', () => {
  it('is what core/CMakeLists.txt builds', () => {
    const text = readFileSync(path.join(ROOT, 'core/CMakeLists.txt'), 'utf8');
    const built = {};
    for (const [, name, rest] of text.matchAll(/^vicinal_layer\((\w+)([^)]*)\)/gm)) {
      built[name] = /DEPENDS([\s\w]*)$/.exec(rest)?.[1].trim().split(/\s+/) ?? [];
    }
    expect(built).toEqual(LAYERS);
  });

  it('has no cycle', () => {
    const below = new Set();
    for (const [name, allowed] of Object.entries(LAYERS)) {
      expect(allowed.filter((layer) => !below.has(layer)), name).toEqual([]);
      below.add(name);
    }
  });
});

describe('the list of allowed platform conditions', () => {
  it('names only files that exist, each with a reason', () => {
    for (const [file, reason] of PLATFORM_CONDITION_ALLOWED) {
      expect(files.map(({ path: name }) => name)).toContain(file);
      expect(reason).toMatch(/\w+ \w+/);
    }
  });
});
