/**
 * What can be reached without a useful summary: the chance floor of a task distribution. A trained policy that is not
 * clearly above it has learned nothing about compaction.
 */
import { RandomStream } from '../core/rng';
import { type Player, perfectPlayer, type RehearsalRules, rehearse } from './rehearsal';
import type { TaskInstance } from './task';
import { familyOf } from './tasks';

export interface ChanceReport {
  /** Tasks played. */
  readonly tasks: number;
  /** Share of tasks that need at least one compaction: the expert with complete summaries has to compact. */
  readonly compacted: number;
  /** Success of syntactically right commands with random words. */
  readonly random: number;
  /** Success of the expert whose summaries are blank. */
  readonly memoryless: number;
  /** The same, but on the last turn it answers with what it knows and random values for the rest. */
  readonly guessing: number;
  /** The last two on the tasks that need a compaction only; NaN when there are none. */
  readonly memorylessCompacted: number;
  readonly guessingCompacted: number;
  /** Success of the expert with complete summaries: below 1 where a summary cap is too small. */
  readonly expert: number;
}

/** The floor to draw: the best of the players without memory, on tasks that need a compaction. */
export function chanceFloor(report: ChanceReport): number {
  return Math.max(report.random, report.memorylessCompacted || 0, report.guessingCompacted || 0);
}

/**
 * Measures the floor by playing.
 * @param seed unsigned 32-bit; the players' dice
 */
export async function measureChance(
  tasks: readonly TaskInstance[],
  rules: RehearsalRules,
  seed: number,
): Promise<ChanceReport> {
  const count = {
    compacted: 0,
    random: 0,
    memoryless: 0,
    guessing: 0,
    memorylessCompacted: 0,
    guessingCompacted: 0,
    expert: 0,
  };
  for (const [i, task] of tasks.entries()) {
    const dice = new RandomStream(seed, 'test', i);
    const blank = () => '';
    const randomPlayer: Player = { act: () => familyOf(task.family).randomCommand(task, dice), summarise: blank };
    const memoryless: Player = { act: (tracker) => tracker.next(), summarise: blank };
    const guessing: Player = {
      act: (tracker, last) => (last ? tracker.guess(dice) : tracker.next()),
      summarise: blank,
    };
    const expert = await rehearse(task, rules, perfectPlayer);
    const forgot = await rehearse(task, rules, memoryless);
    const guessed = await rehearse(task, rules, guessing);
    const rolled = await rehearse(task, rules, randomPlayer);
    const compacted = expert.compactions > 0;
    count.compacted += Number(compacted);
    count.expert += Number(expert.solved);
    count.random += Number(rolled.solved);
    count.memoryless += Number(forgot.solved);
    count.guessing += Number(guessed.solved);
    count.memorylessCompacted += Number(compacted && forgot.solved);
    count.guessingCompacted += Number(compacted && guessed.solved);
  }
  const share = (n: number) => n / tasks.length;
  return {
    tasks: tasks.length,
    compacted: share(count.compacted),
    random: share(count.random),
    memoryless: share(count.memoryless),
    guessing: share(count.guessing),
    memorylessCompacted: count.memorylessCompacted / count.compacted,
    guessingCompacted: count.guessingCompacted / count.compacted,
    expert: share(count.expert),
  };
}
