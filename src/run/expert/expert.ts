/** Scripted players, driven through the same episodes as the policy: demonstrations, required compactions, chance. */
import type { RunConfig } from '../../core/config/config';
import { encode, special } from '../../core/tokenizer/tokenizer';
import type { Rollout } from '../../core/trajectory/trajectory';
import type { TerminalPool } from '../../env/pool';
import type { TaskInstance } from '../../env/task';

import type { DecodeResult } from '../../model/engine';
import { Episode } from '../rollout/episode';
import type { EpisodeSetup } from '../rollout/episode-setup';
import { type Gate, type LockstepOptions, runLockstep } from '../rollout/rollout';
import { trackerOf } from '../rollout/tasks';

/** Who plays in the policy's place. `n` is the episode's number within the call. */
export interface Player {
  /** The next command. */
  act(episode: Episode, n: number): string;
  /** The summary, given the facts that are known and still needed. */
  summarise(facts: readonly string[], n: number): string;
  /** Whether to compact instead of acting, asked where `trigger = learned` allows it; left out: never. */
  compacts?(n: number): boolean;
}

/** The expert whose summaries lose nothing. */
export const expert: Player = {
  act: (episode) => episode.setup.tracker.next(),
  summarise: (facts) => facts.join(' '),
};

function scripted(tokens: readonly number[], cap: number): DecodeResult {
  // What does not fit the cap is cut, and then the stop token is appended, as for the policy.
  const ids = Uint32Array.from(tokens).slice(0, cap);
  const zeros = new Float32Array(ids.length);
  return { ids, logp: zeros, values: zeros };
}

/** A player as what `runLockstep` asks; every token it writes has mask 1, as if it had been sampled. */
export function decideAs(player: Player): LockstepOptions['decide'] {
  return async (seats) => {
    for (const { episode, n } of seats) {
      const summary = episode.need === 'summary';
      const compacts = episode.mayCompact && player.compacts?.(n) === true;
      const write = () => (summary ? player.summarise(episode.setup.tracker.facts(), n) : player.act(episode, n));
      const text = compacts ? null : write();
      const job = episode.job(0);
      const tokens = text === null ? [special.compact] : [...encode(text), job.stop];
      episode.accept(job, scripted(tokens, job.cap));
    }
  };
}

/** Most shells open at once. Bounds memory; results do not depend on it. */
const SEATS = 256;

/** Plays tasks to their ends; rollouts in the order of the setups. */
export function playScripted(
  setups: readonly EpisodeSetup[],
  pool: TerminalPool,
  gate: Gate,
  player: Player = expert,
): Promise<Rollout[]> {
  const episodes = setups.map((setup) => new Episode(setup));
  return runLockstep(episodes, { pool, gate, decide: decideAs(player), seats: SEATS });
}

/**
 * Compactions that each task requires: 0 where the expert solves it inside one window, else as many as the expert with
 * perfect summaries goes through.
 * @param known results of earlier calls by task index; filled here, so that periodic evaluations ask only once
 */
export async function requiredCompactions(
  tasks: readonly TaskInstance[],
  config: RunConfig,
  pool: TerminalPool,
  gate: Gate,
  known: Map<number, number> = new Map(),
): Promise<number[]> {
  const play = (list: readonly TaskInstance[], rules: Partial<RunConfig>) =>
    playScripted(
      list.map((task) => setupOf(task, task.index, { ...config, ...rules })),
      pool,
      gate,
    );
  const single = await play(
    tasks.filter((task) => !known.has(task.index)),
    { compaction: 'none' },
  );
  const open = new Set(single.filter((r) => !r.solved).map((r) => r.taskIndex));
  for (const { taskIndex } of single) if (!open.has(taskIndex)) known.set(taskIndex, 0);
  const long = tasks.filter((task) => open.has(task.index));
  for (const { taskIndex, compactions } of await play(long, { compaction: 'summary', maxCompactions: 64 }))
    known.set(taskIndex, compactions.length);
  return tasks.map((task) => known.get(task.index)!);
}

/** An episode of a task outside training. */
export function setupOf(
  task: TaskInstance,
  index: number,
  config: RunConfig,
  compactionsRequired: number | null = null,
): EpisodeSetup {
  return {
    id: index,
    split: 'eval',
    iteration: 0,
    taskIndex: task.index,
    task,
    tracker: trackerOf(task, config),
    compactionsRequired,
    config,
  };
}
