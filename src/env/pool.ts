/**
 * A fixed pool of terminal workers. Environment e lives on worker e mod n, messages are batched, and results do not depend on n. Without
 * workers (n = 0) the shells run in the caller's thread.
 *
 * A worker that does not answer in time, or dies, is replaced: its environments are rebuilt by replaying their commands,
 * and the batch runs again one command at a time. The command that hangs then ends its own episode only, flagged
 * `killed`. A pause of the whole machine costs a replay, not an episode.
 */
import { LabError } from '../core/errors';
import { InProcessLane } from './in-process-lane';
import type { Lane } from './lane';
import type { TerminalResult } from './terminal';
import type { OpenRequest, RunRequest } from './terminal-service';
import type { SpawnWorker } from './worker-handle';
import { WorkerLane } from './worker-lane';

export type { TerminalResult } from './terminal';
export type { OpenRequest, RunRequest } from './terminal-service';
export type { SpawnWorker } from './worker-handle';

export interface TerminalPool {
  /** Number of workers; 0: in the caller's thread. */
  readonly workers: number;
  /** Commands ended by the wall clock so far; above 0 the run is not reproducible. */
  readonly kills: number;
  /** Creates environments, or replaces those of the same number. */
  open(batch: readonly OpenRequest[]): Promise<void>;
  /** Runs commands, those of one environment one after the other; results in the order of the batch. */
  run(batch: readonly RunRequest[]): Promise<TerminalResult[]>;
  /** Solved share per environment, 1 when solved. The environment is not to be used afterwards. */
  verify(envs: readonly number[]): Promise<number[]>;
  /** Frees environments that are no longer needed. */
  release(envs: readonly number[]): Promise<void>;
  /** Ends all workers; pending calls reject. */
  close(): Promise<void>;
}

export interface PoolOptions {
  /** Number of workers, ≥ 0. */
  readonly workers: number;
  /** Required when there are workers: see pool-browser.ts and pool-node.ts. */
  readonly spawn?: SpawnWorker;
  /** Wall-clock limit of a command, milliseconds. The count limits end every command we know of within 0.2 s. */
  readonly commandTimeoutMs?: number;
}

/** @throws `terminal.no-spawn` when there are workers and nothing to start them with */
export function createTerminalPool(options: PoolOptions): TerminalPool {
  const { workers, spawn, commandTimeoutMs = 10_000 } = options;
  if (workers > 0 && !spawn) {
    throw new LabError({
      code: 'terminal.no-spawn',
      what: 'A terminal pool with workers needs a way to start them',
      where: 'createTerminalPool',
      expected: 'spawn',
      got: 'nothing',
      fix: 'Pass spawn, or workers: 0.',
    });
  }
  const lanes: Lane[] =
    workers > 0 && spawn
      ? Array.from({ length: workers }, () => new WorkerLane(spawn, commandTimeoutMs))
      : [new InProcessLane()];
  const laneOf = (env: number) => env % lanes.length;

  /** Splits a batch over the lanes and puts the results back in order. */
  async function scatter<Q, R>(
    batch: readonly Q[],
    env: (q: Q) => number,
    send: (lane: Lane, part: Q[]) => Promise<R[]>,
  ) {
    const parts = lanes.map((): { at: number[]; items: Q[] } => ({ at: [], items: [] }));
    batch.forEach((item, at) => {
      const part = parts[laneOf(env(item))]!;
      part.at.push(at);
      part.items.push(item);
    });
    const results: R[] = new Array(batch.length);
    await Promise.all(
      parts.map(async ({ at, items }, i) => {
        if (items.length === 0) return;
        const answers = await send(lanes[i]!, items);
        at.forEach((place, k) => {
          results[place] = answers[k]!;
        });
      }),
    );
    return results;
  }
  const nothing = async (done: Promise<void>): Promise<never[]> => {
    await done;
    return [];
  };

  return {
    workers,
    get kills() {
      return lanes.reduce((sum, lane) => sum + lane.kills, 0);
    },
    async open(batch) {
      await scatter(
        batch,
        (q) => q.env,
        (lane, part) => nothing(lane.open(part)),
      );
    },
    run: (batch) =>
      scatter(
        batch,
        (q) => q.env,
        (lane, part) => lane.run(part),
      ),
    verify: (envs) =>
      scatter(
        envs,
        (env) => env,
        (lane, part) => lane.verify(part),
      ),
    async release(envs) {
      await scatter(
        envs,
        (env) => env,
        (lane, part) => nothing(lane.release(part)),
      );
    },
    async close() {
      for (const lane of lanes) lane.close();
    },
  };
}
