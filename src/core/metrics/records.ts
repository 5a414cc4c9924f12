/** What is measured of an iteration and of an evaluation: plain structured-cloneable data. Definitions: ./metrics.ts. */

/** Success on held-out tasks. */
export interface EvalSummary {
  /** Share of episodes solved; where a task may be tried several times, an episode is all attempts at one task. */
  readonly success: number;
  readonly episodes: number;
  /** Share solved at the first attempt; absent where there is only one. */
  readonly firstAttempt?: number;
  /** Solved and total, by compactions the instance requires (index = compactions). */
  readonly byCompactions: readonly { readonly solved: number; readonly episodes: number }[];
  /** Success on instances that need at least one compaction; null when there is none. */
  readonly successNeedingCompaction: number | null;
  readonly meanTurns: number;
  readonly meanCompactions: number;
  readonly meanSummaryTokens: number;
  readonly factRecall: number | null;
}

export type AlarmCode = 'non-finite' | 'ratio-not-one' | 'zero-advantages' | 'kl-limit' | 'killed-command' | 'moved';
export interface Alarm {
  readonly code: AlarmCode;
  readonly message: string;
}

/**
 * Wall time of a stretch of a run, in milliseconds, by what was pending. Pauses are left out. `wallMs` = `gpuMs` + `idleMs` +
 * `scriptMs`; shares are shares of it.
 */
export interface Timing {
  readonly wallMs: number;
  /** A call of the engine was pending: the device works, or the host packs, submits and reads for it. */
  readonly gpuMs: number;
  /** A call of the terminals was pending, whatever else was. */
  readonly terminalMs: number;
  /** Terminals were pending and the engine was not: the device idles because of them. */
  readonly idleMs: number;
  /** Neither was pending: our own JavaScript ran alone. */
  readonly scriptMs: number;
}

/** Metrics of one iteration (definitions: src/core/metrics/metrics.ts). Time fields end in `Ms` and are the only ones that may differ between equal runs. */
export interface IterationRecord {
  readonly iteration: number;
  /** Cumulative tokens fed in training rollouts, re-prefill after compactions included. */
  readonly envTokens: number;
  /** Mean success and reward of this iteration's training rollouts. */
  readonly trainSuccess: number;
  readonly meanReturn: number;
  readonly loss: number;
  readonly policyLoss: number;
  readonly valueLoss: number;
  readonly entropy: number;
  readonly kl: number;
  readonly clipFraction: number;
  readonly gradNorm: number;
  /** max |ρ − 1| of the recomputed log-probs before the first step, over its minibatch (all tokens when no step is made). */
  readonly ratioError: number;
  readonly explainedVariance: number | null;
  readonly explainedVarianceExecution: number | null;
  readonly explainedVarianceSummary: number | null;
  /** Mean tokens of a summary; null without a compaction. */
  readonly summaryTokens: number | null;
  /** Mean per rollout. */
  readonly compactions: number;
  readonly turns: number;
  readonly factRecall: number | null;
  /** Mean advantage by segment index in the rollout. */
  readonly advantageBySegment: readonly number[];
  /** Share of each stop reason. */
  readonly stops: Readonly<Record<string, number>>;
  readonly policyTokens: number;
  readonly learningRate: number;
  /** The policy update was skipped because every advantage was zero. */
  readonly updateSkipped: boolean;
  readonly alarms: readonly Alarm[];
  readonly evalComp?: EvalSummary;
  readonly evalSingle?: EvalSummary;
  /** In twice the window, compaction off: final evaluation only. */
  readonly evalLong?: EvalSummary;
  readonly rolloutMs: number;
  readonly updateMs: number;
  readonly evalMs: number;
  /** Of rollout and update. Absent in records of earlier versions. */
  readonly timing?: Timing;
  /** Of the evaluation, where there was one. */
  readonly evalTiming?: Timing;
}

/** What curves are drawn from: the metrics of an iteration, or those of them that a result file keeps. */
export type CurveRecord = Pick<IterationRecord, 'iteration'> & Partial<Omit<IterationRecord, 'iteration' | 'alarms'>>;
