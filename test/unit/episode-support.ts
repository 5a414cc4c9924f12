/** Episodes by hand: a task without files, a tracker that knows nothing, and what a policy would have sampled. */
import fc from 'fast-check';
import type { RunConfig } from '../../src/core/config/config';
import type { TaskInstance, TaskTracker } from '../../src/env/task';
import type { DecodeJob, DecodeResult } from '../../src/model/engine';
import { Episode } from '../../src/run/rollout/episode';

export const task: TaskInstance = {
  family: 'chain',
  seed: 0,
  split: 'eval',
  index: 0,
  difficulty: 3,
  instruction: 'follow acorn',
  files: {},
  commands: [],
  minTurns: 6,
  data: null,
};

export const silentTracker: TaskTracker = {
  observe: () => {},
  facts: () => [],
  resume: () => {},
  next: () => 'exit',
  guess: () => 'exit',
};

export function episodeWith(config: RunConfig): Episode {
  return new Episode({
    id: 7,
    split: 'train',
    iteration: 0,
    taskIndex: 0,
    task,
    tracker: silentTracker,
    compactionsRequired: 0,
    config,
  });
}

/** A token that is a word. */
export const word = 150;

/** What a policy would have sampled: `content`, then the stop token if it still fits the cap. */
export function sampled(job: DecodeJob, content: readonly number[]): DecodeResult {
  const ids = Uint32Array.from([...content, job.stop].slice(0, job.cap));
  return { ids, logp: Float32Array.from(ids, () => -1), values: Float32Array.from(ids, () => 0.5) };
}

/** Context rules for random configurations: a record of fast-check. */
export const contextRules = {
  window: fc.integer({ min: 24, max: 160 }),
  actionCap: fc.integer({ min: 2, max: 12 }),
  observationCap: fc.integer({ min: 2, max: 24 }),
  summaryCap: fc.integer({ min: 2, max: 24 }),
  maxCompactions: fc.integer({ min: 0, max: 4 }),
  tailSteps: fc.integer({ min: 0, max: 3 }),
  keepTask: fc.boolean(),
};
