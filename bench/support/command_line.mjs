// The command line of a benchmark in JavaScript: what is wrong with it is one line and status 2;
// --help prints the comment at the head of the benchmark's own file.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** The comment at the head of a file. */
function headOf(url) {
  const lines = readFileSync(fileURLToPath(url), 'utf8').split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return lines.slice(0, end).map((line) => line.replace(/^\/\/ ?/, '')).join('\n');
}

function check(values, numbers, choices) {
  for (const name of numbers) {
    for (const text of values[name].split(',')) {
      if (/^\d+(\.\d+)?$/.test(text)) continue;
      throw new Error(`--${name}: found ${JSON.stringify(text)}, expected a number`);
    }
  }
  for (const [name, known] of Object.entries(choices)) {
    for (const text of values[name].split(',')) {
      if (known.includes(text)) continue;
      throw new Error(`--${name}: there is no ${JSON.stringify(text)}, only ${known.join(', ')}`);
    }
  }
}

/**
 * The options' values, as parseArgs gives them, or the end of the program.
 * @param url the benchmark's import.meta.url. @param options as parseArgs takes them.
 * @param checks numbers: options that are a number or several with commas between them; choices:
 *   options that name some of a list, the list by the option's name.
 */
export function commandLine(url, options, { numbers = [], choices = {} } = {}) {
  const name = path.basename(fileURLToPath(url), '.mjs').replaceAll('_', '-');
  try {
    const help = { type: 'boolean', short: 'h', default: false };
    const { values } = parseArgs({ options: { ...options, help } });
    if (values.help) {
      console.log(headOf(url));
      process.exit(0);
    }
    check(values, numbers, choices);
    return values;
  } catch (error) {
    console.error(`${error.message.replaceAll('\n', ' ')} (see npm run bench -- ${name} --help)`);
    process.exit(2);
  }
}
