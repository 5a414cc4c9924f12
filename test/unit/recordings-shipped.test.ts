/** The recordings of public/episodes, and the rule by which they were chosen. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { parseRecording, parseRecordingIndex, type RecordedEpisode } from '../../src/core/recording/recording';
import { generateTask } from '../../src/env/tasks';
import { isPreset, presets } from '../../src/run/presets/presets';
import { choose, factsOf, type Pair, shows } from '../../src/run/recording/choose';

const folder = 'public/episodes';
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const index = parseRecordingIndex(JSON.parse(read('index.json')), 'index.json');

test('three tasks, each file in the index and the other way round', () => {
  expect(index).toHaveLength(3);
  expect(new Set(index.map(({ name }) => name)).size).toBe(3);
  expect(readdirSync(folder).sort()).toEqual([...index.map(({ file }) => file), 'index.json'].sort());
});

describe.each(index)('$file', ({ file, title }) => {
  const text = read(file);
  const recording = parseRecording(JSON.parse(text), file);
  const [base, trained] = recording.episodes;

  test('is at most 30 kB gzipped', () => {
    expect(gzipSync(text).byteLength).toBeLessThanOrEqual(30_000);
  });
  test('its task is the one that its preset, seed and index give', () => {
    const { preset, seed, index: number, instruction, family } = recording.task;
    expect(title).toBe(recording.title);
    if (!isPreset(preset)) throw new Error(`${preset} is no preset`);
    const { suite, difficultyMin, difficultyMax } = presets[preset].config;
    const task = generateTask({ tasks: suite, seed, split: 'eval', index: number!, difficultyMin, difficultyMax });
    expect({ instruction: task.instruction, family: task.family }).toEqual({ instruction, family });
  });
  test('comes from a clean commit and shows what the rule says', () => {
    expect(recording.provenance.commit).toMatch(/^\d+\.\d+\.\d+\+[0-9a-f]{10}$/);
    expect(shows({ base, trained })).toBe(true);
    expect(recording.facts).toEqual(factsOf({ base, trained }));
  });
});

describe('choosing', () => {
  const fold = (lost: string[], kept: string[] = []) => ({
    kind: 'fold' as const,
    summary: '',
    before: 50,
    after: 9,
    kept,
    lost,
  });
  const episode = (
    policy: 'base' | 'trained',
    success: boolean,
    folds: RecordedEpisode['frames'],
  ): RecordedEpisode => ({
    policy,
    success,
    reward: success ? 1 : 0,
    stop: success ? 'solved' : 'failed',
    frames: [...folds, { kind: 'end', text: '', success, context: 9 }],
  });
  const pair = (lostBase: string[][], lostTrained: string[][], solved: [boolean, boolean] = [false, true]): Pair => ({
    base: episode(
      'base',
      solved[0],
      lostBase.map((lost) => fold(lost)),
    ),
    trained: episode(
      'trained',
      solved[1],
      lostTrained.map((lost) => fold(lost, ['code'])),
    ),
  });

  test.each([
    ['the base loses and fails, the trained keeps and solves', pair([['code']], [[]]), true],
    ['the base solves it', pair([['code']], [[]], [true, true]), false],
    ['the base fails without losing anything', pair([[]], [[]]), false],
    ['the trained fails', pair([['code']], [[]], [false, false]), false],
    ['the trained loses something too', pair([['code']], [['code']]), false],
    ['the trained needs no summary', pair([['code']], []), false],
  ])('%s: %#', (_, candidate, expected) => {
    expect(shows(candidate)).toBe(expected);
  });
  test('of those that fit, the one that loses soonest, then the first', () => {
    const [late, soon, other] = [pair([[], ['code']], [[]]), pair([['code']], [[]]), pair([['x']], [[]])];
    expect(choose([late, soon, other])).toBe(soon);
    expect(choose([pair([[]], [[]])])).toBeUndefined();
    expect(factsOf(soon)).toEqual([{ name: 'code', value: 'code' }]);
  });
});
