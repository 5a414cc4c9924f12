import { expect, test } from 'vitest';
import { adapterName } from '../../src/core/adapter-name';

const nothing = { vendor: '', architecture: '', description: '', software: false };

test.each([
  ['Chromium: vendor and architecture only', { vendor: 'nvidia', architecture: 'ampere' }, 'nvidia ampere'],
  [
    'Chromium for developers: the description repeats the vendor',
    { vendor: 'nvidia', architecture: 'ampere', description: 'NVIDIA GeForce RTX 3080' },
    'ampere NVIDIA GeForce RTX 3080',
  ],
  [
    'SwiftShader: the description repeats the architecture',
    { vendor: 'google', architecture: 'swiftshader', description: 'SwiftShader driver', software: true },
    'google SwiftShader driver',
  ],
  [
    'llvmpipe: no architecture',
    { vendor: 'mesa', description: 'llvmpipe (LLVM 19.1.7, 256 bits)', software: true },
    'mesa llvmpipe (LLVM 19.1.7, 256 bits)',
  ],
  ['Safari: vendor and a generation', { vendor: 'apple', architecture: 'metal-3' }, 'apple metal-3'],
  ['vendor and architecture alike', { vendor: 'apple', architecture: 'apple' }, 'apple'],
  ['Firefox: empty strings', {}, 'adapter, name withheld by the browser'],
  ['Firefox on a software adapter', { software: true }, 'software adapter, name withheld by the browser'],
  ['blanks are no name', { vendor: ' ', description: '\t' }, 'adapter, name withheld by the browser'],
])('%s', (_, names, expected) => {
  expect(adapterName({ ...nothing, ...names })).toBe(expected);
});
