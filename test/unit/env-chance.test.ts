import { describe, expect, test, vi } from 'vitest';
import { chanceFloor, measureChance } from '../../src/env/chance';
import { perfectPlayer, type RehearsalRules, rehearse } from '../../src/env/rehearsal';
import { families, generateTask } from '../../src/env/tasks';

vi.setConfig({ testTimeout: 60_000 }); // seconds on an idle machine; other suites run beside this one

const rules: RehearsalRules = {
  window: 96,
  actionCap: 12,
  observationCap: 14,
  summaryCap: 20,
  keepTask: true,
  turnSlack: 2,
};
const taskOf = (tasks: string, index: number, difficulty: number) =>
  generateTask({ tasks, seed: 2, split: 'eval', index, difficultyMin: difficulty, difficultyMax: difficulty });

describe('rehearsal', () => {
  test('counts tokens and compactions as the rollout does', async () => {
    // chain, 8 files: bos, task, 2 words; a step is act + `cat` name eoc + 12 tokens of observation = 16. Reserve in a
    // window of 64 with caps 8, 14, 8: 31. The context is 4 + 16 n: compaction after every second step, and after it 4 +
    // resume + 4 words of summary = 9, so again after two.
    const quick = { ...rules, window: 64, actionCap: 8, summaryCap: 8 };
    const played = await rehearse(taskOf('chain', 0, 8), quick, perfectPlayer);
    expect(played).toMatchObject({ solved: true, turns: 9, compactions: 4, instructionTokens: 2 });
    expect(played.actionTokens).toEqual([...Array(8).fill(3), 7]);
    expect(played.observationTokens).toEqual([...Array(8).fill(12), 0]);
    expect(played.summaryTokens).toEqual(Array(4).fill(5));
    expect(played.totalTokens).toBe(4 + 8 * 16);
  });

  test('horizons are mixed: in each family the shortest task fits the window, the longest needs several compactions', async () => {
    for (const { name, minDifficulty, maxDifficulty } of families) {
      expect((await rehearse(taskOf(name, 0, minDifficulty), rules, perfectPlayer)).compactions).toBe(0);
      expect((await rehearse(taskOf(name, 0, maxDifficulty), rules, perfectPlayer)).compactions).toBeGreaterThanOrEqual(
        2,
      );
    }
  });

  test('a summary cap too small for the facts fails even the expert', async () => {
    const tight = { ...rules, window: 84, summaryCap: 6, turnSlack: 0 };
    expect((await rehearse(taskOf('repair', 0, 5), tight, perfectPlayer)).solved).toBe(false);
  });
});

describe('chance floor', () => {
  test.each(families.map((family) => family.name))(
    '%s: without memory next to nothing is solved',
    async (name) => {
      const hardest = families.find((family) => family.name === name)!.maxDifficulty;
      const tasks = Array.from({ length: 12 }, (_, index) => taskOf(name, index, hardest));
      const report = await measureChance(tasks, rules, 1);
      expect(report).toMatchObject({ tasks: 12, compacted: 1, expert: 1, random: 0, memoryless: 0 });
      // A guess is right once in 32; three or more of 12 by luck: 0.5 %, and the seed is fixed.
      expect(report.guessing).toBeLessThan(3 / 12);
      expect(chanceFloor(report)).toBe(Math.max(report.random, report.memorylessCompacted, report.guessingCompacted));
    },
    60_000,
  );

  test('tasks that fit the window need no memory', async () => {
    const tasks = Array.from({ length: 6 }, (_, index) => taskOf('chain', index, 1));
    const report = await measureChance(tasks, rules, 1);
    expect(report).toMatchObject({ compacted: 0, memoryless: 1, expert: 1 });
    expect(chanceFloor(report)).toBe(0);
  });
});
