/** What one iteration's record says of its rollouts and its update. */
import type { RunConfig } from '../../core/config/config';
import { advantageBySegment, factRecall, mean, meanSummaryTokens, stopShares } from '../../core/metrics/metrics';
import type { Alarm, IterationRecord } from '../../core/metrics/records';
import type { Rollout } from '../../core/trajectory/trajectory';
import { type learn, learningRateAt } from '../learn/learn';
import { learningReward } from '../learn/reward';

/** What only the training loop knows: counters, clocks and evaluations. */
export type Measured = Pick<
  IterationRecord,
  | 'iteration'
  | 'envTokens'
  | 'rolloutMs'
  | 'updateMs'
  | 'evalMs'
  | 'timing'
  | 'evalTiming'
  | 'evalComp'
  | 'evalSingle'
  | 'evalLong'
>;

/** @param progress share of the training done when the iteration began @param alarms besides those of the update */
export function iterationRecord(
  rollouts: readonly Rollout[],
  result: Awaited<ReturnType<typeof learn>>,
  how: { config: RunConfig; progress: number; before: readonly Alarm[]; after: readonly Alarm[] },
  measured: Measured,
): IterationRecord {
  const { stats } = result;
  const { config } = how;
  const { iteration, envTokens, ...rest } = measured;
  return {
    iteration,
    envTokens,
    trainSuccess: mean(rollouts.map((r) => (r.solved ? 1 : 0))) ?? 0,
    meanReturn: mean(rollouts.map((r) => learningReward(r, config))) ?? 0,
    loss: stats?.loss ?? 0,
    policyLoss: stats?.policyLoss ?? 0,
    valueLoss: result.valueLoss,
    entropy: result.entropy,
    kl: stats?.kl ?? 0,
    clipFraction: stats?.clipFraction ?? 0,
    gradNorm: stats?.gradNorm ?? 0,
    ratioError: result.ratioError,
    explainedVariance: result.explainedVariance,
    explainedVarianceExecution: result.explainedVarianceExecution,
    explainedVarianceSummary: result.explainedVarianceSummary,
    summaryTokens: meanSummaryTokens(rollouts),
    compactions: mean(rollouts.map((r) => r.compactions.length)) ?? 0,
    turns: mean(rollouts.map((r) => r.steps.length)) ?? 0,
    factRecall: factRecall(rollouts),
    advantageBySegment: advantageBySegment(rollouts),
    stops: stopShares(rollouts),
    policyTokens: result.policyTokens,
    learningRate: learningRateAt(config.learningRate, config, how.progress),
    updateSkipped: stats === null,
    alarms: [...how.before, ...result.alarms, ...how.after],
    ...rest,
  };
}
