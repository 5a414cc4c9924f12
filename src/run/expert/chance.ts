/**
 * What can be reached without a useful summary: the chance floor of a task distribution (docs/algorithm.md section 6). A
 * trained policy that is not clearly above it has learned nothing about compaction.
 */
import type { RunConfig } from '../../core/config/config';
import { RandomStream } from '../../core/rng';
import type { TerminalPool } from '../../env/pool';
import type { TaskInstance } from '../../env/task';
import { familyOf } from '../../env/tasks';
import type { Gate } from '../rollout/rollout';
import { expert, type Player, playScripted, requiredCompactions, setupOf } from './expert';

export interface ChanceReport {
  /** Tasks played. */
  readonly tasks: number;
  /** Share of tasks that require a compaction (see Rollout.compactionsRequired). */
  readonly compacted: number;
  /** Mean number of compactions of the expert with complete summaries. */
  readonly compactions: number;
  /** Success of the expert with complete summaries: below 1 where a summary cap is too small. */
  readonly expert: number;
  /** Success of syntactically right commands with random words. */
  readonly random: number;
  /** Success of the expert whose summaries are blank. */
  readonly memoryless: number;
  /** The same, but on the last turn it answers with what it knows and random values for the rest. */
  readonly guessing: number;
  /** The last three on the tasks that require a compaction only; null when there are none. */
  readonly randomCompacted: number | null;
  readonly memorylessCompacted: number | null;
  readonly guessingCompacted: number | null;
}

/** The floor to draw: the best of the players without memory, on tasks that require a compaction; 0 if there are none. */
export function chanceFloor(report: ChanceReport): number {
  const { randomCompacted, memorylessCompacted, guessingCompacted } = report;
  return Math.max(randomCompacted ?? 0, memorylessCompacted ?? 0, guessingCompacted ?? 0);
}

export interface ChanceOptions {
  /** Context rules; compaction is on, whatever it says. */
  readonly config: RunConfig;
  /** Unsigned 32-bit: the players' dice. */
  readonly seed: number;
  readonly pool: TerminalPool;
  readonly gate: Gate;
}

/** Most episodes in flight. Bounds memory; results do not depend on it. */
const WAVE = 64;

const blank = () => '';

/** The players without memory, on tasks whose dice are given. */
function players(tasks: readonly TaskInstance[], seed: number): Record<'random' | 'memoryless' | 'guessing', Player> {
  const dice = (player: number) => tasks.map((task) => new RandomStream(seed, 'chance', 2 * task.index + player));
  const commands = dice(0);
  const guesses = dice(1);
  return {
    random: {
      act: ({ task }, n) => familyOf(task.family).randomCommand(task, commands[n]!),
      summarise: blank,
    },
    memoryless: { ...expert, summarise: blank },
    guessing: {
      act: ({ steps, turnLimit, setup: { tracker } }, n) =>
        steps.length + 1 === turnLimit ? tracker.guess(guesses[n]!) : tracker.next(),
      summarise: blank,
    },
  };
}

/**
 * Measures the floor by playing.
 * @param tasks of different `index`, at least one
 */
export async function measureChance(tasks: readonly TaskInstance[], options: ChanceOptions): Promise<ChanceReport> {
  const { seed, pool, gate } = options;
  const config: RunConfig = { ...options.config, compaction: 'summary' };
  const required: boolean[] = [];
  const compactions: number[] = [];
  const solved: Record<'expert' | 'random' | 'memoryless' | 'guessing', boolean[]> = {
    expert: [],
    random: [],
    memoryless: [],
    guessing: [],
  };
  for (let from = 0; from < tasks.length; from += WAVE) {
    const wave = tasks.slice(from, from + WAVE);
    const play = (player: Player) =>
      playScripted(
        wave.map((task) => setupOf(task, task.index, config)),
        pool,
        gate,
        player,
      );
    for (const count of await requiredCompactions(wave, config, pool, gate)) required.push(count > 0);
    const best = await play(expert);
    solved.expert.push(...best.map((rollout) => rollout.solved));
    compactions.push(...best.map((rollout) => rollout.compactions.length));
    const without = players(wave, seed);
    for (const name of ['random', 'memoryless', 'guessing'] as const)
      solved[name].push(...(await play(without[name])).map((rollout) => rollout.solved));
  }
  const mean = (values: readonly (number | boolean)[]) => values.reduce<number>((a, b) => a + +b, 0) / values.length;
  const onCompacted = (values: readonly boolean[]) => {
    const chosen = values.filter((_, i) => required[i]);
    return chosen.length === 0 ? null : mean(chosen);
  };
  return {
    tasks: tasks.length,
    compacted: mean(required),
    compactions: mean(compactions),
    expert: mean(solved.expert),
    random: mean(solved.random),
    memoryless: mean(solved.memoryless),
    guessing: mean(solved.guessing),
    randomCompacted: onCompacted(solved.random),
    memorylessCompacted: onCompacted(solved.memoryless),
    guessingCompacted: onCompacted(solved.guessing),
  };
}
