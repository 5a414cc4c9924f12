/** What an episode begins with. */
import type { RunConfig } from '../../core/config/config';
import type { TaskInstance, TaskTracker } from '../../env/task';

export interface EpisodeSetup {
  readonly id: number;
  readonly split: 'train' | 'eval';
  readonly iteration: number;
  readonly taskIndex: number;
  readonly task: TaskInstance;
  readonly tracker: TaskTracker;
  /** See Rollout.compactionsRequired. */
  readonly compactionsRequired: number | null;
  readonly config: RunConfig;
  /** See Rollout.attempt. */
  readonly attempt?: number;
  /** What the note before this attempt is written after; left out: the attempt begins without a note. */
  readonly noteAfter?: LastContext | undefined;
}

/** Tokens of a context, of which the first `cached` lie in the cache slot of its episode. */
export interface LastContext {
  readonly ids: readonly number[];
  readonly cached: number;
}
