// What NAME.rows says of NAME.vic: `sequence N`, then a line for each live row, by slot, with slot,
// id, three factors and packed row, the latter four in hexadecimal; where ids are strings, `=` and
// the string, in hexadecimal, too.

const hex = (value, digits) => value.toString(16).padStart(digits, '0');
const line = ({ slot, id, factors, packed, name }) => [slot, id,
  ...factors.map((bits) => hex(bits, 8)), Buffer.from(packed).toString('hex'),
  ...(name === undefined ? [] : [`=${Buffer.from(name).toString('hex')}`])].join(' ');

/** @param version what readLog returns. */
export function textOf({ sequence, rows }) {
  return [`sequence ${sequence}`, ...rows.map(line), ''].join('\n');
}
