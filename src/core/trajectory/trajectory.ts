/** What is kept of every rollout: nothing of a token is thrown away. */

export type SegmentKind = 'execution' | 'summary';
export type StopReason = 'solved' | 'failed' | 'turn-limit' | 'command-limit' | 'window-full' | 'resume-too-long';

/** One training row (docs/algorithm.md section 2). All arrays have one entry per token of the row. */
export interface Segment {
  readonly kind: SegmentKind;
  /** Exact ids: context, then sampled and observed tokens. Never decoded and re-encoded. */
  readonly ids: Uint16Array;
  /** 1 exactly for tokens sampled in this segment. */
  readonly mask: Uint8Array;
  /** Number of leading tokens that are context (system, task, resume text, copied tail). */
  readonly contextLength: number;
  /** Behaviour log-probs, 0 where mask is 0. */
  readonly logp: Float32Array;
  /** Values V of the prefix before the token, before the iteration's updates; 0 where mask is 0. */
  readonly values: Float32Array;
  /** Advantages Â after scaling; 0 where mask is 0. Filled by the trainer. */
  readonly advantages: Float32Array;
  /** Critic targets; 0 where mask is 0. */
  readonly targets: Float32Array;
}

/** One action and its observation. */
export interface Step {
  readonly command: string;
  readonly output: string;
  readonly exitCode: number;
  /** Index of the execution segment it happened in. */
  readonly segment: number;
}

/** One compaction. */
export interface CompactionRecord {
  readonly summary: string;
  /** Context tokens before (summary included) and after. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Facts visible and still needed before the compaction; how many of them the summary restates. */
  readonly factsNeeded: number;
  readonly factsKept: number;
}

/** One whole rollout. */
export interface Rollout {
  /** Unique within a run and split. */
  readonly id: number;
  readonly split: 'train' | 'eval';
  readonly iteration: number;
  readonly family: string;
  readonly difficulty: number;
  readonly taskIndex: number;
  readonly instruction: string;
  /**
   * Compactions this instance requires in this window: 0 where the scripted expert solves it inside one window, else as many
   * as the expert with perfect summaries goes through. Found out for held-out tasks; null for training tasks.
   */
  readonly compactionsRequired: number | null;
  readonly turnLimit: number;
  readonly segments: readonly Segment[];
  readonly steps: readonly Step[];
  readonly compactions: readonly CompactionRecord[];
  readonly stop: StopReason;
  /** Terminal reward R. */
  readonly reward: number;
  /** Every check passed. */
  readonly solved: boolean;
  /**
   * Env tokens: what its contexts grew by, each one's beginning included. A writer of its own that reads a context again adds
   * none.
   */
  readonly fedTokens: number;
  /** A wall-clock kill ended it; the run cannot be reproduced bit for bit. */
  readonly killed: boolean;
  /** Number of the attempt at its task, from 1; absent where there is only one. */
  readonly attempt?: number;
}
