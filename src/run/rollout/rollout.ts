/**
 * Drives many episodes: all that want tokens get them, all commands run, repeat. Groups of episodes take turns, so that one
 * decodes while the commands of others run.
 */
import type { RunConfig } from '../../core/config/config';
import { type Purpose, randomKey } from '../../core/rng';
import type { Rollout } from '../../core/trajectory/trajectory';
import { Turns } from '../../core/turns';
import type { TerminalPool } from '../../env/pool';
import type { DecodeJob, ModelRole, PolicyEngine } from '../../model/engine';
import { Episode } from './episode';
import type { EpisodeSetup } from './episode-setup';
import { firstAttempt, nextAttempt } from './retry';

/** Called between waves; resolves when the run may go on, rejects to cancel. */
export type Gate = () => Promise<void>;

/** An episode in flight. */
export interface Seat {
  readonly episode: Episode;
  /** Number of the episode within the call. */
  readonly n: number;
  /** The terminal and cache slot it owns. */
  readonly env: number;
}

export interface LockstepOptions {
  readonly pool: TerminalPool;
  readonly gate: Gate;
  /** Gives every seat that needs an action or a summary its tokens, through `Episode.job` and `Episode.accept`. */
  readonly decide: (seats: readonly Seat[]) => Promise<void>;
  /** After each wave: share of episodes finished. */
  readonly onWave?: ((finished: number) => void) | undefined;
  /** Most episodes in flight (default all); the next begins when one ends. */
  readonly seats?: number | undefined;
  /** Groups of seats that go in lockstep, each by itself. Default 1. */
  readonly groups?: number | undefined;
  /** What follows an episode that has ended, in the same seat with a fresh terminal; default nothing. */
  readonly follow?: ((episode: Episode) => Episode | undefined) | undefined;
}

/**
 * Runs episodes to their end. What they do depends neither on the number of terminal workers, nor on seats and groups: an
 * episode's tokens depend on itself alone.
 * @returns in the order of the episodes, each with those that followed it right behind
 * @throws the first failure of any group, once no call of the others is pending
 */
export async function runLockstep(episodes: readonly Episode[], options: LockstepOptions): Promise<Rollout[]> {
  const count = Math.min(options.seats ?? episodes.length, episodes.length);
  const groups = Math.max(1, Math.min(options.groups ?? 1, count));
  const waiting = episodes.map((episode, n) => ({ episode, n }));
  const chains = episodes.map((episode) => [episode]);
  let next = 0;
  let fail: (reason: unknown) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failure.catch(() => {});
  const shared: Shared = {
    ...options,
    // A group that waits while paused must hear that another one failed.
    gate: () => Promise.race([failure, options.gate()]),
    next: () => waiting[next++],
    follow: (n, episode) => {
      const following = options.follow?.(episode);
      if (following) chains[n]!.push(following);
      return following;
    },
    onWave: () => {
      const ended = chains.filter((chain) => chain[chain.length - 1]!.need === 'nothing');
      options.onWave?.(ended.length / Math.max(1, chains.length));
    },
  };
  const ends = await Promise.allSettled(
    Array.from({ length: groups }, async (_, g) => {
      // Every so many, as the pool deals environments to its workers.
      const envs = Array.from({ length: Math.ceil((count - g) / groups) }, (_, i) => g + i * groups);
      try {
        await runGroup(envs, shared);
      } catch (thrown) {
        fail(thrown);
        throw thrown;
      }
    }),
  );
  if (ends.some((end) => end.status === 'rejected')) await failure;
  return chains.flat().map((episode) => episode.result());
}

interface Shared extends Pick<LockstepOptions, 'pool' | 'gate' | 'decide'> {
  /** The next episode that has no seat yet. */
  readonly next: () => Omit<Seat, 'env'> | undefined;
  /** What comes after number n has ended. */
  readonly follow: (n: number, episode: Episode) => Episode | undefined;
  readonly onWave: () => void;
}

/** Runs episodes on the given environments until there are no more. */
async function runGroup(envs: readonly number[], shared: Shared): Promise<void> {
  const { pool, gate, decide, next, follow, onWave } = shared;
  let free = envs;
  let active: readonly Seat[] = [];
  let following: readonly Seat[] = [];
  for (;;) {
    await gate();
    onWave();
    const entering = free.flatMap((env): Seat[] => {
      const entry = next();
      return entry ? [{ ...entry, env }] : [];
    });
    const joining = [...following, ...entering];
    const taken = [...active, ...joining];
    const seats = taken.filter(({ episode }) => episode.need !== 'nothing');
    if (seats.length === 0 && joining.length === 0) return;
    // Shells open while the model decides on the first commands.
    await settled([decide(seats), pool.open(joining.map(({ env, episode }) => ({ env, task: episode.task })))]);
    const commands = seats.filter(({ episode }) => episode.need === 'terminal');
    const results = await pool.run(commands.map(({ env, episode }) => ({ env, command: episode.command })));
    commands.forEach(({ episode }, i) => {
      episode.observe(results[i]!);
    });
    const exits = commands.filter(({ episode }) => episode.need === 'verify');
    const shares = await pool.verify(exits.map(({ env }) => env));
    exits.forEach(({ episode }, i) => {
      episode.verify(shares[i]!);
    });
    active = seats.filter(({ episode }) => episode.need !== 'nothing');
    following = taken.flatMap((seat): Seat[] => {
      const episode = seat.episode.need === 'nothing' ? follow(seat.n, seat.episode) : undefined;
      return episode ? [{ ...seat, episode }] : [];
    });
    const kept = new Set([...active, ...following].map(({ env }) => env));
    free = envs.filter((env) => !kept.has(env));
  }
}

/** Waits until all have ended; then throws the first failure, if any. */
async function settled(calls: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(calls);
  await Promise.all(calls);
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
  /** Most episodes in flight; default all. */
  readonly seats?: number | undefined;
  /** See LockstepOptions; by default what `groupsFor` says. */
  readonly groups?: number | undefined;
  /** Sees the episodes before they start and returns what is called after each wave. */
  readonly observe?: ((episodes: readonly Episode[]) => (finished: number) => void) | undefined;
}

/** Measured with two workers on a software adapter: the GPU idles 39 % of an iteration with one group, 30 % with two, 17 % with
 *  four and 8 % with six; beyond that decoding small groups costs more than it hides. */
const GROUPS_PER_WORKER = 3;
/** Fewer episodes than this are not worth a decoding call of their own. */
const SEATS_PER_GROUP = 16;

/** Groups for a number of episodes in flight: a multiple of the workers, so that each group's terminals are on one of them. */
export function groupsFor(seats: number, workers: number): number {
  const most = Math.floor(seats / SEATS_PER_GROUP);
  const per = Math.max(1, workers);
  return Math.max(1, Math.min(GROUPS_PER_WORKER, Math.floor(most / per)) * per || most);
}

/**
 * Rollouts of the policy, in the order of the setups.
 * @param setups one per task try; where a task may be tried again, its attempts lie one after the other in the result
 */
export async function rollOut(setups: readonly EpisodeSetup[], options: RolloutOptions): Promise<Rollout[]> {
  const { engine, summaryRole, pool, gate } = options;
  const episodes = setups.map((setup) => new Episode(firstAttempt(setup)));
  const onWave = options.observe?.(episodes);
  const seats = Math.min(options.seats ?? episodes.length, episodes.length);
  const roles: ModelRole[] = summaryRole === 'writer' ? ['policy', 'writer'] : ['policy'];
  for (const role of roles) await engine.openSlots(role, seats, engine.shape.positions);
  const key = randomKey(options.seed, options.purpose);
  // An engine takes one call at a time, also where the groups ask different models.
  const turns = new Turns();
  const decide = async (group: readonly Seat[]) => {
    for (const role of roles) {
      const asking = group.filter(({ episode }) => (episode.need === 'summary' ? summaryRole : 'policy') === role);
      if (asking.length === 0) continue;
      // The writer has not read this context: it gets all of it.
      const jobs: DecodeJob[] = asking.map(({ episode, env }) => episode.job(env, role === 'writer'));
      const results = await turns.take(() => engine.decode(role, jobs, { key }));
      asking.forEach(({ episode }, i) => {
        episode.accept(jobs[i]!, results[i]!);
      });
    }
  };
  return runLockstep(episodes, {
    pool,
    gate,
    decide,
    onWave,
    seats,
    groups: options.groups ?? groupsFor(seats, pool.workers),
    follow: nextAttempt,
  });
}
