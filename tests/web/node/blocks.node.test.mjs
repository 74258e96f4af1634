// The mirror of the boundary's blocks refuses a module of another layout.
import { expect, test } from 'vitest';
import { checkAbi, kAbiVersion } from '../../../dist/backend/blocks.js';

const sizes = [24, 40, 64, 120, 120];

test('the layout of this version is taken', () => {
  expect(() => checkAbi(kAbiVersion, sizes)).not.toThrow();
});

test.each([
  [kAbiVersion + 1, sizes],
  [kAbiVersion, [24, 40, 64, 120, 128]],
  [kAbiVersion, sizes.slice(1)],
])('boundary %i with blocks %o is VERSION', (version, found) => {
  expect(() => checkAbi(version, found)).toThrow(expect.objectContaining({ code: 'VERSION' }));
});
