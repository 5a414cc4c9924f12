/** JSON that nests 100,000 deep is refused by name at every entrance, before anything calls itself on it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseConfig } from '../../src/core/config/config';
import { MAX_JSON_DEPTH, requireShallow } from '../../src/core/json-depth';
import { readSafetensors } from '../../src/core/safetensors';
import { parseRolloutLine } from '../../src/core/trajectory/trajectory-jsonl';
import { parseLine } from '../../src/headless/conformance-line';
import { decodeDocument } from '../../src/notebook/codec';
import { documentFromFile } from '../../src/notebook/document';
import { loadComparison } from '../../src/ui/comparison/results-file';
import { loadIndex, loadRecording } from '../../src/ui/episode/load';
import { labInProcess } from './lab-in-process';

const nested = (n: number) => '['.repeat(n) + ']'.repeat(n);
const DEEP = nested(100_000);
/** Where a schema or a config says what it got. */
const deepUnder = (key: string) => `{"${key}":${DEEP}}`;
const tooDeep = { code: 'json.too-deep' };

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lab-deep-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('the limit itself passes, one more does not, in arrays and in objects', () => {
  const value = JSON.parse(nested(MAX_JSON_DEPTH));
  expect(requireShallow(value, 'here')).toBe(value);
  expect(() => requireShallow([value], 'here')).toThrow(/here.*at most 64/);
  expect(() => requireShallow({ a: 1, b: { c: value } }, 'here')).toThrow(/here.*at most 64/);
  for (const plain of [7, 'text', null, true, undefined]) expect(requireShallow(plain, 'here')).toBe(plain);
});

test('a link', async () => {
  const payload = deflateRawSync(Buffer.from(deepUnder('title'))).toString('base64url');
  const sum = crc32(`1.${payload}`).toString(16).padStart(8, '0');
  await expect(decodeDocument(`#nb=1.${payload}.${sum}`)).rejects.toMatchObject({
    code: 'link.invalid',
    parts: { what: 'This JSON nests too deeply' },
  });
});

test('a notebook file', () => {
  for (const text of [DEEP, deepUnder('cells')]) expect(() => documentFromFile(text)).toThrow(/JSON nests too deeply/);
});

test('a line of trajectories', () => {
  expect(() => parseRolloutLine(deepUnder('format'), 'line 3')).toThrow(/nests too deeply at line 3/);
});

test('the header of a safetensors file', () => {
  const text = Buffer.from(deepUnder('tensor'));
  const file = Buffer.alloc(8 + text.length);
  file.writeBigUInt64LE(BigInt(text.length));
  text.copy(file, 8);
  expect(() => readSafetensors(file)).toThrow(expect.objectContaining(tooDeep));
});

test('results and episodes of a site', async () => {
  const serve = async () => deepUnder('version');
  await expect(loadComparison('any', serve)).rejects.toMatchObject(tooDeep);
  await expect(loadIndex(serve)).rejects.toMatchObject(tooDeep);
  await expect(loadRecording('any.json', serve)).rejects.toMatchObject(tooDeep);
});

test('a configuration', () => {
  for (const value of [JSON.parse(DEEP), { lambda: JSON.parse(DEEP) }])
    expect(() => parseConfig(value)).toThrow(expect.objectContaining(tooDeep));
});

test('a line of a conformance command', () => {
  expect(() => parseLine(v.strictObject({ a: v.number() }), deepUnder('a'), 2)).toThrow(/nests too deeply at line 2/);
});

test('files and arguments of the command line', async () => {
  const file = join(folder, 'deep.json');
  await writeFile(file, deepUnder('lambda'));
  for (const words of [
    ['run', file, '--seed', '1'],
    ['run', 'quick', '--seed', '1', '--kernels', deepUnder('choices')],
  ]) {
    const { code, stderr } = await labInProcess(words);
    expect(code, stderr).not.toBe(0);
    expect(stderr).toContain('This JSON nests too deeply');
  }
});
