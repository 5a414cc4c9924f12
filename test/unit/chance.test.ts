import { afterAll, describe, expect, test, vi } from 'vitest';
import { parseConfig, type RunConfig } from '../../src/core/config/config';
import { createTerminalPool } from '../../src/env/pool';
import { families, generateTask } from '../../src/env/tasks';
import { chanceFloor, measureChance } from '../../src/run/expert/chance';
import { type Player, playScripted, setupOf } from '../../src/run/expert/expert';
import { presets, suiteContext } from '../../src/run/presets/presets';

vi.setConfig({ testTimeout: 60_000 }); // seconds on an idle machine; other suites run beside this one

const rules = parseConfig({ ...suiteContext, turnSlack: 2 });
const gate = async () => {};
const pool = createTerminalPool({ workers: 0 });
afterAll(() => pool.close());

const taskOf = (tasks: string, index: number, difficulty: number) =>
  generateTask({ tasks, seed: 2, split: 'eval', index, difficultyMin: difficulty, difficultyMax: difficulty });
const chance = (tasks: Parameters<typeof measureChance>[0], config: RunConfig, seed: number) =>
  measureChance(tasks, { config, seed, pool, gate });
async function play(task: ReturnType<typeof taskOf>, config: RunConfig, player?: Player) {
  const [rollout] = await playScripted([setupOf(task, 0, config)], pool, gate, player);
  return rollout!;
}

describe('the expert', () => {
  test('in the preset quick, chain of 8 files: a compaction after every second file', async () => {
    // bos, task, 2 words; a step is act + `cat` name eoc + 12 tokens of observation = 16. The reserve in a window of 64 with
    // caps 8, 14, 10 is 33, so two steps make 4 + 32 > 31: compaction. After it 4 + resume + 4 words of summary = 9, and
    // again two steps fit. The summary costs its request, 4 words and the stop token.
    const played = await play(taskOf('chain', 0, 8), parseConfig(presets.quick.config));
    expect(played).toMatchObject({ solved: true, steps: { length: 9 } });
    expect(played.compactions.map((c) => c.tokensBefore)).toEqual([42, 47, 47, 47]);
    expect(played.compactions.map((c) => c.tokensAfter)).toEqual(Array(4).fill(9));
    expect(played.compactions.every((c) => c.factsKept === 2 && c.factsNeeded === 2)).toBe(true);
  });

  test('horizons are mixed: in each family the shortest task fits the window, the longest needs several compactions', async () => {
    for (const { name, minDifficulty, maxDifficulty } of families) {
      expect((await play(taskOf(name, 0, minDifficulty), rules)).compactions).toHaveLength(0);
      expect((await play(taskOf(name, 0, maxDifficulty), rules)).compactions.length).toBeGreaterThanOrEqual(2);
    }
  });

  test('fails where a summary cap is too small for the facts', async () => {
    const tight = { ...rules, window: 84, summaryCap: 6, turnSlack: 0 };
    expect((await play(taskOf('repair', 0, 5), tight)).solved).toBe(false);
  });
});

describe('chance floor', () => {
  test.each(families.map((family) => family.name))('%s: without memory next to nothing is solved', async (name) => {
    const hardest = families.find((family) => family.name === name)!.maxDifficulty;
    const tasks = Array.from({ length: 12 }, (_, index) => taskOf(name, index, hardest));
    const report = await chance(tasks, rules, 1);
    expect(report).toMatchObject({ tasks: 12, compacted: 1, expert: 1, random: 0, memoryless: 0, randomCompacted: 0 });
    // A guess is right once in 32; three or more of 12 by luck: 0.5 %, and the seed is fixed.
    expect(report.guessing).toBeLessThan(3 / 12);
    expect(chanceFloor(report)).toBe(report.guessingCompacted);
  });

  test('tasks that fit the window need no memory', async () => {
    const tasks = Array.from({ length: 6 }, (_, index) => taskOf('chain', index, 1));
    const report = await chance(tasks, rules, 1);
    expect(report).toMatchObject({ compacted: 0, compactions: 0, memoryless: 1, expert: 1, memorylessCompacted: null });
    expect(chanceFloor(report)).toBe(0);
  });

  test('is a function of tasks and seed, and counts compacted tasks apart', async () => {
    // Two thirds of these fit the window. More tasks than one wave, so that the waves have to be put together.
    const tasks = Array.from({ length: 66 }, (_, index) => taskOf('chain', index, index % 3 === 0 ? 8 : 1));
    const report = await chance(tasks, { ...rules, compaction: 'none' }, 1);
    expect(report).toMatchObject({ tasks: 66, compacted: 1 / 3, expert: 1, memoryless: 2 / 3, memorylessCompacted: 0 });
    expect(await chance(tasks, rules, 1)).toEqual(report);
  });
});
