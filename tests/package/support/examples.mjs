// The examples of a Markdown file: fenced blocks whose info string says file=NAME.
//
// A block with output=NAME holds what the example NAME must print, word for word.

/** @returns [{ file, language, text, line, output }] */
export function examplesOf(markdown) {
  const examples = [];
  const outputs = new Map();
  const fence = /^```(\w+) +([^\n]*)\n([\s\S]*?)^```$/gm;
  for (const { 1: language, 2: info, 3: text, index } of markdown.matchAll(fence)) {
    const line = markdown.slice(0, index).split('\n').length;
    const file = /(?:^|\s)file=([\w.-]+)/.exec(info)?.[1];
    const output = /(?:^|\s)output=([\w.-]+)/.exec(info)?.[1];
    if (output !== undefined) outputs.set(output, text);
    if (file === undefined) continue;
    if (examples.some((other) => other.file === file)) {
      throw new Error(`line ${line}: two examples are called ${file}`);
    }
    examples.push({ file, language, text, line });
  }
  return examples.map((example) => ({ ...example, output: outputs.get(example.file) }));
}

/** How an example is run, by its name; undefined when no runner takes it. */
export function runnerOf(file) {
  if (/\.html$|\.browser\.mjs$/.test(file)) return 'browser';
  if (/\.mjs$/.test(file)) return 'node';
  if (/\.ts$/.test(file)) return 'types';
  if (/\.(cpp|c)$/.test(file)) return 'native';
  if (/\.sh$/.test(file)) return 'shell';
  return undefined;
}
