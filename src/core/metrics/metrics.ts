/** Metric definitions (docs/algorithm.md section 6). Each number the page or the command line shows comes from here. */

import type { Rollout, SegmentKind } from '../trajectory/trajectory';
import type { EvalSummary, Timing } from './records';

/** Metric names with the definition shown on hover and in the documentation. */
export const metricHelp = {
  trainSuccess: 'Share of this iteration’s training rollouts in which every check of the verifier passed.',
  evalComp: 'Share of held-out episodes solved with compaction on, sampling at temperature 1.',
  evalSingle: 'Share of held-out episodes solved inside one window, compaction off.',
  evalLong: 'Share of held-out episodes solved in twice the window, compaction off.',
  meanReturn:
    'Mean reward of the training rollouts as learning sees it: R, less the price of summaries, plus the recall reward.',
  summaryTokens: 'Mean number of tokens the policy sampled per summary, stop token included.',
  compactions: 'Mean number of compactions per training rollout.',
  turns: 'Mean number of turns (one command and its output) per training rollout.',
  entropy:
    'Mean entropy of the policy’s next-token distribution over its own tokens, in nats, full softmax, as the update reads them.',
  kl: 'mean(ρ − 1 − ln ρ) over the update’s passes: how far the update moved the policy, in nats.',
  clipFraction: 'Share of policy tokens whose probability ratio ρ left 1 ± ε during the update.',
  explainedVariance:
    '1 − Var(target − V) / Var(target) of the critic before the update; 1 is perfect, 0 is no better than a constant.',
  factRecall: 'Facts the summaries restate correctly, as a share of the facts that were visible and still needed.',
  envTokens: 'Tokens fed to the model in training rollouts so far, including the re-reading after each compaction.',
  loss: 'The whole loss L = L_π + c_V·L_V − c_H·H + β·k3, averaged over the update’s steps.',
  gradNorm: 'Norm of the policy gradient before clipping.',
} as const;
export type MetricName = keyof typeof metricHelp;

/** Mean; null of nothing. */
export function mean(values: ArrayLike<number>): number | null {
  if (values.length === 0) return null;
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

/** Population variance; null of nothing. */
export function variance(values: ArrayLike<number>): number | null {
  const mu = mean(values);
  if (mu === null) return null;
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i]! - mu) ** 2;
  return sum / values.length;
}

/**
 * 1 − Var(R̂ − V) / Var(R̂).
 * @param targets R̂, one per trainable token
 * @param values V before the update, same length
 * @returns null when there are no tokens or the targets do not vary
 */
export function explainedVariance(targets: ArrayLike<number>, values: ArrayLike<number>): number | null {
  const total = variance(targets);
  if (total === null || total < 1e-12) return null;
  const rest = Float64Array.from({ length: targets.length }, (_, i) => targets[i]! - values[i]!);
  return 1 - variance(rest)! / total;
}

/** Facts kept over facts needed, summed over all compactions; null when no fact was needed. */
export function factRecall(rollouts: readonly Rollout[]): number | null {
  let needed = 0;
  let kept = 0;
  for (const rollout of rollouts)
    for (const compaction of rollout.compactions) {
      needed += compaction.factsNeeded;
      kept += compaction.factsKept;
    }
  return needed === 0 ? null : kept / needed;
}

function sampledTokens(rollout: Rollout, kind: SegmentKind): number[] {
  return rollout.segments.filter((s) => s.kind === kind).map((s) => s.mask.reduce((n, m) => n + m, 0));
}

/** Tokens of summaries that the policy sampled, over a rollout. */
export function summaryTokens(rollout: Rollout): number {
  return sampledTokens(rollout, 'summary').reduce((n, tokens) => n + tokens, 0);
}

/** Mean sampled tokens per summary; null without summaries. */
export function meanSummaryTokens(rollouts: readonly Rollout[]): number | null {
  return mean(rollouts.flatMap((r) => sampledTokens(r, 'summary')));
}

/** Share of rollouts by stop reason. */
export function stopShares(rollouts: readonly Rollout[]): Record<string, number> {
  const shares: Record<string, number> = {};
  for (const rollout of rollouts) shares[rollout.stop] = (shares[rollout.stop] ?? 0) + 1 / rollouts.length;
  return shares;
}

/** Mean Â by segment index in the rollout: Eq. 14 makes it depend on future length even for an exact V (fixture T6). */
export function advantageBySegment(rollouts: readonly Rollout[]): number[] {
  const sums: number[] = [];
  const counts: number[] = [];
  for (const rollout of rollouts)
    rollout.segments.forEach((segment, s) => {
      segment.mask.forEach((m, i) => {
        if (m === 0) return;
        sums[s] = (sums[s] ?? 0) + segment.advantages[i]!;
        counts[s] = (counts[s] ?? 0) + 1;
      });
    });
  return sums.map((sum, s) => sum / counts[s]!);
}

/** Attempts at the same task, one list a task try: rollouts lie in that order, and an attempt after the first says so. */
function taskTries(rollouts: readonly Rollout[]): Rollout[][] {
  const tries: Rollout[][] = [];
  for (const rollout of rollouts) {
    const last = tries[tries.length - 1];
    if (last && (rollout.attempt ?? 1) > 1) last.push(rollout);
    else tries.push([rollout]);
  }
  return tries;
}

/**
 * Success on held-out tasks, also by the number of compactions each instance requires. A task is solved when any attempt
 * solved it; the means are over rollouts, of which a task has as many as attempts were made.
 */
export function evalSummary(rollouts: readonly Rollout[]): EvalSummary {
  const tries = taskTries(rollouts);
  const solved = tries.map((attempts) => attempts.some((r) => r.solved));
  const byCompactions: { solved: number; episodes: number }[] = [];
  tries.forEach(([first], t) => {
    const required = first!.compactionsRequired ?? 0;
    while (byCompactions.length <= required) byCompactions.push({ solved: 0, episodes: 0 });
    const bucket = byCompactions[required]!;
    bucket.episodes++;
    if (solved[t]) bucket.solved++;
  });
  const long = byCompactions.slice(1);
  const longEpisodes = long.reduce((n, b) => n + b.episodes, 0);
  return {
    success: mean(solved.map(Number)) ?? 0,
    episodes: tries.length,
    ...(rollouts.some((r) => r.attempt !== undefined) && {
      firstAttempt: mean(tries.map(([first]) => Number(first!.solved))) ?? 0,
    }),
    byCompactions,
    successNeedingCompaction: longEpisodes === 0 ? null : long.reduce((n, b) => n + b.solved, 0) / longEpisodes,
    meanTurns: mean(rollouts.map((r) => r.steps.length)) ?? 0,
    meanCompactions: mean(rollouts.map((r) => r.compactions.length)) ?? 0,
    meanSummaryTokens: meanSummaryTokens(rollouts) ?? 0,
    factRecall: factRecall(rollouts),
  };
}

/** Shares of wall time: `gpu` + `idle` + `script` = 1; `terminal` overlaps with `gpu`. See Timing. */
export interface TimeShares {
  readonly gpu: number;
  readonly terminal: number;
  readonly idle: number;
  readonly script: number;
}

/** Shares of the summed wall time; null of no time. */
export function timeShares(timings: readonly Timing[]): TimeShares | null {
  const sum = (of: (t: Timing) => number) => timings.reduce((n, t) => n + of(t), 0);
  const wall = sum((t) => t.wallMs);
  if (wall === 0) return null;
  const share = (of: (t: Timing) => number) => sum(of) / wall;
  return {
    gpu: share((t) => t.gpuMs),
    terminal: share((t) => t.terminalMs),
    idle: share((t) => t.idleMs),
    script: share((t) => t.scriptMs),
  };
}
