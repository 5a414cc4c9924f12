/** What `lab` says to wrong arguments and unfit files: one line, before any device is opened. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { writeSafetensors } from '../../src/core/safetensors';
import { requireReplaceableFile, requireWritableFile, writeAtomically } from '../../src/headless/targets';
import { initialParameters } from '../../src/model/initialise';
import { readModel, writeModel } from '../../src/run/session/model-file';
import { labInProcess } from './lab-in-process';

// No test here may get as far as a device: it would train.
vi.mock('../../src/gpu/dawn', () => ({
  dawnGpu: () => Promise.reject(new Error('the device was asked for')),
}));
vi.setConfig({ testTimeout: 30_000 }); // the first test loads a command's modules, on a busy machine

const folder = mkdtempSync(join(tmpdir(), 'headless-usage-'));
const at = (name: string) => join(folder, name);
beforeAll(() => {
  mkdirSync(at('folder'));
  writeFileSync(at('file'), 'something');
  writeFileSync(at('bad.json'), '{"windw": 3}');
  writeFileSync(at('mark.json'), '\uFEFF{"window": 40}');
  // A policy like the base, for a larger window.
  const { shape } = readModel(readFileSync('public/bases/chain-small.safetensors'), 'base');
  const wide = { ...shape, positions: 2 * shape.positions };
  writeFileSync(at('wide.safetensors'), writeModel(wide, initialParameters(wide, 1, { copyInit: 1 }), {}));
  writeFileSync(at('state.safetensors'), writeSafetensors([], { steps: '{"policy":1}' }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** @param line `@` stands for the test's folder */
const lab = (line: string) => labInProcess(line.replaceAll('@', folder).split(' '));

const SEED = 'expected a whole number from 0 to 4294967295';
test.each([
  // Wrong arguments: exit code 2.
  ['run smoke --seed 1.5', 2, SEED],
  ['run smoke --seed 4294967296', 2, SEED],
  ['run smoke --seed -1', 2, `${SEED}, got "-1"`],
  ['run smoke --seed=-1', 2, SEED],
  ['eval smoke --policy @/file --seed -1', 2, SEED],
  ['pretrain chain-small --seed 1e3', 2, SEED],
  ['run smoke --out --seed 1', 2, '--out has no value at lab run. If the value starts with "-", write --out=VALUE'],
  ['run smoke --out=', 2, 'Bad value for --out: expected a path, got "". If it comes from a shell variable'],
  ['run smoke --result=', 2, 'Bad value for --result: expected a path'],
  ['run --resume=', 2, 'Bad value for --resume: expected a path'],
  ['eval smoke --policy=', 2, 'Bad value for --policy: expected a path'],
  ['pretrain chain-small --out=', 2, 'Bad value for --out: expected a path'],
  ['run smoke --set foo=1', 2, 'Unknown configuration key "foo"'],
  ['run smoke --set windw=64', 2, 'Did you mean "window"?'],
  ['run smoke --set window=40', 2, 'The window is too small for the reserve'],
  ['run smoke --set window=10', 2, 'expected a whole number from 24 to 1024'],
  ['run smoke --set window=x', 2, 'Configuration key window has a bad value'],
  ['run @/mark.json --set window=40', 2, 'The window is too small for the reserve'],
  ['run smok', 2, 'Did you mean "smoke"?'],
  ['eval smok --policy x', 2, 'Did you mean "smoke"?'],
  ['eval smoke --policy @/file --modes comp,sngle', 2, 'Did you mean "single"?'],
  ['eval smoke --policy @/file --modes ', 2, 'expected comp, single and long'],
  ['eval smoke --policy public/bases/chain-small.safetensors --writer @/nothing', 1, 'got nothing at that path'],
  [
    'eval smoke --policy public/bases/chain-small.safetensors --writer @/wide.safetensors',
    1,
    'another number of positions',
  ],
  ['pretrain chain-smal', 2, 'Did you mean "chain-small"?'],
  ['config windw', 2, 'Did you mean "window"?'],
  ['run smoke --resume @', 2, 'no preset, --seed, --set or --out beside --resume, got smoke. Leave them out'],
  ['run --resume @ --seed 1 --set window=64 --out @/x', 2, 'got --seed --set --out'],
  ['run --resume @', 2, 'There is no run to resume'],
  // Files that are not what they should be: exit code 1.
  ['run @/folder', 1, '/folder: expected a readable file, got a folder (EISDIR). Name a file'],
  ['run @/bad.json', 1, '/bad.json: config: expected a key such as window'],
  ['run @/mark.json', 1, 'The window is too small for the reserve'],
  ['run @/file', 1, 'The configuration file is not JSON'],
  ['run smoke --out @/file', 1, '/file: expected a folder, or a path where one can be made, got a file'],
  ['run smoke --out @/file/below', 1, 'got a file. Choose another path'],
  ['run smoke --result @/folder', 1, '/folder: expected a file that can be written, got a folder'],
  ['run smoke --memory @/file/below', 1, 'got a file. Choose another path'],
  ['eval smoke --policy @/folder', 1, '/folder: expected a readable file, got a folder (EISDIR)'],
  ['eval smoke --policy @/nothing', 1, '/nothing: expected a readable file, got nothing at that path (ENOENT)'],
  ['eval smoke --policy @/file', 1, '/file, header length: expected at most'],
  ['eval smoke --policy @/state.safetensors', 1, 'Use policy.safetensors of that run'],
  ['pretrain chain-small --out @/folder', 1, '/folder: expected a file that can be written, got a folder'],
  ['pretrain chain-small --out @/file/below', 1, 'got a file. Choose another path'],
  ['pretrain chain-small --out /dev/null', 1, 'got a device or a pipe'],
])('lab %s: exit code %d', async (line, code, message) => {
  const before = readdirSync(folder);
  const answer = await lab(line);
  expect(answer.stderr).toContain(message);
  expect(answer.stderr).toMatch(/^error: [^\n]*\n$/);
  expect([answer.code, answer.stdout]).toEqual([code, '']);
  expect(readdirSync(folder)).toEqual(before);
});

// Root may write anywhere but there; a folder that can be named but never made kept Node's own mkdir busy for ever.
test.runIf(existsSync('/proc/self'))('a folder that cannot be made is refused', async () => {
  for (const line of [
    'run smoke --out /proc/nope/x',
    'pretrain chain-small --out /proc/nope/x',
    'run smoke --result /proc/x',
  ])
    expect(await lab(line)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: .*\/proc\/.* expected /) });
});

test('good arguments get as far as the device; folders are made, and files are left as they are', async () => {
  const { stderr } = await lab('run smoke --out @/a/b --result @/c/result.json --memory @/file');
  expect(stderr).toContain('the device was asked for');
  expect([readdirSync(at('a/b')), readdirSync(at('c'))]).toEqual([[], []]);
  await requireWritableFile(at('file'));
  await requireReplaceableFile(at('file'));
  expect(readFileSync(at('file'), 'utf8')).toBe('something');
});

test('a write that fails leaves nothing half done behind', async () => {
  await expect(writeAtomically(at('folder'), 'text')).rejects.toMatchObject({ code: 'file.eisdir' });
  expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
});
