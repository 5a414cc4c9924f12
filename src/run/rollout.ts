/** Drives many episodes in lockstep: all that want tokens get them, all commands run, repeat. */
import { positionsOf, type RunConfig } from '../core/config';
import { type Purpose, randomKey } from '../core/rng';
import type { Rollout } from '../core/trajectory';
import type { TerminalPool } from '../env/pool';
import type { DecodeJob, ModelRole, PolicyEngine } from '../model/engine';
import { Episode, type EpisodeSetup } from './episode';

/** Called between waves; resolves when the run may go on, rejects to cancel. */
export type Gate = () => Promise<void>;

/** An episode and the terminal (and cache slot) it owns. */
export interface Seat {
  readonly episode: Episode;
  readonly env: number;
}

export interface LockstepOptions {
  readonly pool: TerminalPool;
  readonly gate: Gate;
  /** Gives every seat that needs an action or a summary its tokens, through `Episode.job` and `Episode.accept`. */
  readonly decide: (seats: readonly Seat[]) => Promise<void>;
  /** After each wave: share of episodes finished. */
  readonly onWave?: ((finished: number) => void) | undefined;
}

/** Runs episodes to their end; what they do does not depend on the number of terminal workers. */
export async function runLockstep(episodes: readonly Episode[], options: LockstepOptions): Promise<Rollout[]> {
  const { pool, gate, decide, onWave } = options;
  await pool.open(episodes.map((episode, env) => ({ env, task: episode.task })));
  for (;;) {
    await gate();
    const active = episodes
      .map((episode, env) => ({ episode, env }))
      .filter(({ episode }) => episode.need !== 'nothing');
    onWave?.(1 - active.length / Math.max(1, episodes.length));
    if (active.length === 0) return episodes.map((episode) => episode.result());
    await decide(active);
    const commands = active.filter(({ episode }) => episode.need === 'terminal');
    const results = await pool.run(commands.map(({ env, episode }) => ({ env, command: episode.command })));
    commands.forEach(({ episode }, i) => {
      episode.observe(results[i]!);
    });
    const exits = commands.filter(({ episode }) => episode.need === 'verify');
    const shares = await pool.verify(exits.map(({ env }) => env));
    exits.forEach(({ episode }, i) => {
      episode.verify(shares[i]!);
    });
  }
}

export interface RolloutOptions {
  readonly engine: PolicyEngine;
  readonly pool: TerminalPool;
  readonly config: RunConfig;
  readonly seed: number;
  readonly purpose: Extract<Purpose, 'sample' | 'evalSample'>;
  /** Who writes summaries; `writer` is the frozen base policy. */
  readonly summaryRole: Extract<ModelRole, 'policy' | 'writer'>;
  readonly gate: Gate;
  /** Sees the episodes before they start and returns what is called after each wave. */
  readonly observe?: ((episodes: readonly Episode[]) => (finished: number) => void) | undefined;
}

/** Rollouts of the policy, in the order of the setups. */
export async function rollOut(setups: readonly EpisodeSetup[], options: RolloutOptions): Promise<Rollout[]> {
  const { engine, config, summaryRole } = options;
  const episodes = setups.map((setup) => new Episode(setup));
  const onWave = options.observe?.(episodes);
  const roles: ModelRole[] = summaryRole === 'writer' ? ['policy', 'writer'] : ['policy'];
  for (const role of roles) await engine.openSlots(role, episodes.length, positionsOf(config));
  const key = randomKey(options.seed, options.purpose);
  const decide = async (seats: readonly Seat[]) => {
    for (const role of roles) {
      const group = seats.filter(({ episode }) => (episode.need === 'summary' ? summaryRole : 'policy') === role);
      if (group.length === 0) continue;
      // The writer has not read this context: it gets all of it.
      const jobs: DecodeJob[] = group.map(({ episode, env }) => episode.job(env, role === 'writer'));
      const results = await engine.decode(role, jobs, { key });
      group.forEach(({ episode }, i) => {
        episode.accept(jobs[i]!, results[i]!);
      });
    }
  };
  return runLockstep(episodes, { pool: options.pool, gate: options.gate, decide, onWave });
}
