/** One iteration's learning: values, advantages, policy and critic updates (docs/algorithm.md sections 3 and 4). */
import { lambdaPerRow, outcomeAdvantages, scaleAdvantages } from '../../core/algorithm/advantages';
import type { RunConfig } from '../../core/config/config';
import { explainedVariance } from '../../core/metrics/metrics';
import type { Alarm } from '../../core/metrics/records';
import { RandomStream } from '../../core/rng';
import type { Rollout } from '../../core/trajectory/trajectory';
import type { LossOptions, OptimiserOptions, PolicyEngine, UpdateBatch, UpdateStats } from '../../model/engine';
import type { Gate } from '../rollout/rollout';
import {
  advantageBatch,
  gather,
  packRollouts,
  selectRollouts,
  type TokenArrays,
  type TrainingRows,
  writeBack,
} from './batch';
import { learningReward } from './reward';
import { combine, weighted } from './update-stats';

/** Recomputed log-probs may differ from the rollout's by float rounding only; beyond this something is wrong. */
export const RATIO_TOLERANCE = 1e-3;
/** Below this no advantage carries a signal, and Adam would blow the entropy bonus up to a full step. */
export const ZERO_ADVANTAGE = 1e-8;

export interface LearnResult {
  /** Means over the policy's optimiser steps, weighted by tokens; null when the update was skipped. */
  readonly stats: UpdateStats | null;
  readonly valueLoss: number;
  /** max |ρ − 1| over the policy tokens of the first minibatch, before its step; over all of them when none was updated. */
  readonly ratioError: number;
  /** Mean over policy tokens as the update's passes read them, nats; before the update when there is none. */
  readonly entropy: number;
  readonly explainedVariance: number | null;
  readonly explainedVarianceExecution: number | null;
  readonly explainedVarianceSummary: number | null;
  readonly policyTokens: number;
  readonly alarms: Alarm[];
}

export interface LearnOptions {
  readonly engine: PolicyEngine;
  readonly config: RunConfig;
  readonly seed: number;
  readonly iteration: number;
  /** `trainingProgress` before the iteration. */
  readonly progress: number;
  readonly gate: Gate;
  readonly onPhase: (phase: 'advantages' | 'update') => Promise<void>;
}

/** Share of a run that lies behind it: of its iterations, or of its token budget where that is nearer its end. */
export function trainingProgress(config: RunConfig, iteration: number, envTokens: number): number {
  const byIterations = iteration / Math.max(1, config.iterations);
  return config.envTokenBudget === 0 ? byIterations : Math.max(byIterations, envTokens / config.envTokenBudget);
}

/** Learning rate at a share of the run: linear decay that reaches `learningRateEnd` of the start at its end. */
export function learningRateAt(rate: number, config: RunConfig, progress: number): number {
  return rate * (1 - (1 - config.learningRateEnd) * Math.min(1, progress));
}

/** Trains on the rollouts and writes values, advantages and targets into their segments. */
export async function learn(rollouts: readonly Rollout[], options: LearnOptions): Promise<LearnResult> {
  const { config, engine } = options;
  await options.onPhase('advantages');
  const rows = packRollouts(rollouts);
  const alarms: Alarm[] = [];
  if (options.iteration === 0) await pretrainCritic(rows, rollouts, alarms, options);
  const values = await currentValues(rows, options);
  const raw = await rawAdvantages(rows, rollouts, values, options);
  const policyToken = policyTokens(rows, config);
  const advantages = Float32Array.from(
    scaleAdvantages(raw.advantages, policyToken, config.advantage === 'outcome' ? 'none' : config.advantageScale),
  );
  writeBack(rows, 'values', values);
  writeBack(rows, 'advantages', advantages);
  writeBack(rows, 'targets', raw.targets);
  const tokens: TokenArrays = { oldLogp: rows.oldLogp, advantages, targets: raw.targets, oldValues: values };
  await options.onPhase('update');
  if (config.klCoef > 0)
    (tokens as { referenceLogp?: Float32Array }).referenceLogp = (await engine.score('reference', rows)).logp;
  const skip = !hasSignal(advantages, policyToken, alarms);
  const { policy, valueLoss } = await update(rows, tokens, skip, alarms, options);
  const stats = combine(policy);
  // The first step's own pass recomputes the log-probs with the weights that sampled: it costs nothing more.
  const [first] = policy;
  const { ratioError, entropy } =
    first && stats
      ? { ratioError: first.maxRatioError, entropy: stats.entropy }
      : await recompute(rows, policyToken, options);
  if (!(ratioError <= RATIO_TOLERANCE))
    alarms.push({
      code: 'ratio-not-one',
      message: `Before the update ρ should be 1 for every trained token; it is off by ${ratioError.toExponential(2)}.`,
    });
  return {
    stats,
    valueLoss,
    ratioError,
    entropy,
    ...explained(rows, raw.targets, values),
    policyTokens: policyToken.reduce((n, p) => n + p, 0),
    alarms,
  };
}

/** Whether the policy has anything to learn from; says so when not. */
function hasSignal(advantages: Float32Array, policyToken: Uint8Array, alarms: Alarm[]): boolean {
  const used = advantages.filter((_, p) => policyToken[p]);
  if (!used.every(Number.isFinite)) {
    alarms.push({ code: 'non-finite', message: 'An advantage is NaN or infinite: the policy update was skipped.' });
    return false;
  }
  if (used.some((a) => Math.abs(a) >= ZERO_ADVANTAGE)) return true;
  alarms.push({ code: 'zero-advantages', message: 'Every advantage is zero: the policy update was skipped.' });
  return false;
}

/** Log-probs and entropies of the policy that sampled, from a fresh forward pass. */
async function recompute(
  rows: TrainingRows,
  policy: Uint8Array,
  { engine }: LearnOptions,
): Promise<{ ratioError: number; entropy: number }> {
  const { logp, entropy } = await engine.score('policy', rows);
  let worst = 0;
  let sum = 0;
  let count = 0;
  for (let p = 0; p < logp.length; p++) {
    if (!policy[p]) continue;
    // Math.max keeps a NaN once it has met one.
    worst = Math.max(worst, Math.abs(Math.exp(logp[p]! - rows.oldLogp[p]!) - 1));
    sum += entropy[p]!;
    count++;
  }
  return { ratioError: worst, entropy: count === 0 ? 0 : sum / count };
}

/** [P] 1 where a trainable token belongs to the policy loss. */
function policyTokens(rows: TrainingRows, config: RunConfig): Uint8Array {
  const flags = new Uint8Array(rows.trainable.length).fill(1);
  if (config.trainSummary !== 'true')
    rows.kind.forEach((kind, r) => {
      if (kind === 1) flags.fill(0, rows.trainableStart[r]!, rows.trainableStart[r + 1]!);
    });
  return flags;
}

/** V of each trainable token before the iteration's updates. */
async function currentValues(rows: TrainingRows, { engine, config }: LearnOptions): Promise<Float32Array> {
  if (config.advantage === 'outcome') return new Float32Array(rows.trainable.length);
  if (config.critic === 'separate') return (await engine.score('critic', rows)).values;
  // A frozen writer decoded the summaries: its value head is that of the base, not the critic that is being trained.
  return config.trainSummary === 'frozen' ? (await engine.score('policy', rows)).values : rows.decodeValues;
}

async function rawAdvantages(
  rows: TrainingRows,
  rollouts: readonly Rollout[],
  values: Float32Array,
  { engine, config }: LearnOptions,
): Promise<{ advantages: Float32Array; targets: Float32Array }> {
  const rewards = Float32Array.from(rollouts, (r) => learningReward(r, config));
  if (config.advantage === 'outcome') {
    const perRollout = outcomeAdvantages(rewards, config.groupSize);
    const advantages = new Float32Array(rows.trainable.length);
    rows.rollout.forEach((n, r) => {
      advantages.fill(perRollout[n]!, rows.trainableStart[r]!, rows.trainableStart[r + 1]!);
    });
    return { advantages, targets: new Float32Array(advantages.length) };
  }
  const lambda = lambdaPerRow(rows.trainableStart, rows.rolloutStart, config.lambdaScope, config.lambda);
  return engine.advantages(advantageBatch(rows, values, rewards, lambda), {
    mode: config.advantage,
    gamma: config.gamma,
    valueTarget: config.valueTarget,
  });
}

function explained(rows: TrainingRows, targets: Float32Array, values: Float32Array) {
  const of = (kind: number) => {
    const spans = [...rows.kind.keys()]
      .filter((s) => rows.kind[s] === kind)
      .map((s) => ({ from: rows.trainableStart[s]!, to: rows.trainableStart[s + 1]! }));
    return explainedVariance(gather(targets, spans), gather(values, spans));
  };
  return {
    explainedVariance: explainedVariance(targets, values),
    explainedVarianceExecution: of(0),
    explainedVarianceSummary: of(1),
  };
}

function optimiser(config: RunConfig, learningRate: number): OptimiserOptions {
  return {
    learningRate,
    beta1: config.adamBeta1,
    beta2: config.adamBeta2,
    epsilon: config.adamEpsilon,
    gradClip: config.gradClip,
  };
}

function policyLoss(config: RunConfig): LossOptions {
  const shared = config.critic === 'shared' && config.advantage !== 'outcome';
  return {
    objective: 'ppo',
    lossNorm: config.lossNorm,
    trainSummary: config.trainSummary === 'true',
    policyCoef: 1,
    valueCoef: shared ? config.valueCoef : 0,
    entropyCoef: config.entropyCoef,
    klCoef: config.klCoef,
    clip: config.clip,
    valueClip: config.valueClip,
  };
}

function criticLoss(config: RunConfig): LossOptions {
  return { ...policyLoss(config), policyCoef: 0, valueCoef: 1, entropyCoef: 0, klCoef: 0 };
}

/** Minibatches of whole rollouts (whole groups under `outcome`), shuffled by (seed, pass). */
function minibatches(rollouts: number, options: LearnOptions, pass: number): number[][] {
  const { config, seed, iteration } = options;
  const unit = config.advantage === 'outcome' ? config.groupSize : 1;
  const units = Array.from({ length: rollouts / unit }, (_, i) => i);
  const order = new RandomStream(seed, 'shuffle', iteration * 256 + pass).shuffle(units);
  const count = Math.min(config.minibatches, units.length);
  return Array.from({ length: count }, (_, b) =>
    order
      .slice(Math.floor((b * order.length) / count), Math.floor(((b + 1) * order.length) / count))
      .flatMap((u) => Array.from({ length: unit }, (_, i) => u * unit + i)),
  );
}

async function update(
  rows: TrainingRows,
  tokens: TokenArrays,
  skip: boolean,
  alarms: Alarm[],
  options: LearnOptions,
): Promise<{ policy: readonly UpdateStats[]; valueLoss: number }> {
  const { config, engine, progress, gate } = options;
  const separate = config.critic === 'separate' && config.advantage !== 'outcome';
  const policy: UpdateStats[] = [];
  const critic: UpdateStats[] = [];
  let stopped = skip;
  for (let epoch = 0; epoch < config.epochs; epoch++) {
    if (!stopped)
      for (const batch of batches(rows, tokens, options, epoch)) {
        await gate();
        const rate = learningRateAt(config.learningRate, config, progress);
        const stats = await engine.update('policy', batch, policyLoss(config), optimiser(config, rate));
        policy.push(stats);
        if (stats.nonFinite) {
          alarms.push({
            code: 'non-finite',
            message: 'The policy update held a NaN or an infinity and was not applied.',
          });
          stopped = true;
        } else if (config.klLimit > 0 && stats.kl > config.klLimit) {
          alarms.push({
            code: 'kl-limit',
            message: `KL ${stats.kl.toFixed(3)} exceeds the limit ${config.klLimit}; this iteration's policy updates ended.`,
          });
          stopped = true;
        }
        if (stopped) break;
      }
    if (!separate) continue;
    for (let v = 0; v < config.valueUpdates; v++)
      critic.push(
        ...(await criticPass(rows, tokens, criticLoss(config), 64 + epoch * config.valueUpdates + v, alarms, options)),
      );
  }
  const valueStats = separate ? critic : policy;
  return {
    policy,
    valueLoss: weighted(
      valueStats,
      (s) => s.valueLoss,
      (s) => s.valueTokens,
    ),
  };
}

/** The minibatches of a pass; one whose rollouts hold no sampled token at all has nothing to teach and is left out. */
function* batches(
  rows: TrainingRows,
  tokens: TokenArrays,
  options: LearnOptions,
  pass: number,
): Generator<UpdateBatch> {
  for (const chosen of minibatches(rows.rolloutStart.length - 1, options, pass)) {
    const batch = selectRollouts(rows, tokens, chosen);
    if (batch.trainable.length > 0) yield batch;
  }
}

/** @param most optimiser steps after which the pass ends early */
async function criticPass(
  rows: TrainingRows,
  tokens: TokenArrays,
  loss: LossOptions,
  pass: number,
  alarms: Alarm[],
  options: LearnOptions,
  most = Number.POSITIVE_INFINITY,
): Promise<UpdateStats[]> {
  const { config, engine, gate, progress } = options;
  const done: UpdateStats[] = [];
  for (const batch of batches(rows, tokens, options, pass)) {
    if (done.length >= most) break;
    await gate();
    const rate = learningRateAt(config.criticLearningRate, config, progress);
    const stats = await engine.update('critic', batch, loss, optimiser(config, rate));
    if (stats.nonFinite)
      alarms.push({ code: 'non-finite', message: 'A critic update held a NaN or an infinity and was not applied.' });
    done.push(stats);
  }
  return done;
}

/** `valuePretrain` critic steps on the first iteration's rollouts, towards the targets that a zero critic gives. */
async function pretrainCritic(
  rows: TrainingRows,
  rollouts: readonly Rollout[],
  alarms: Alarm[],
  options: LearnOptions,
): Promise<void> {
  const { config } = options;
  if (config.critic !== 'separate' || config.advantage === 'outcome' || rows.trainable.length === 0) return;
  const zero = new Float32Array(rows.trainable.length);
  const { targets } = await rawAdvantages(rows, rollouts, zero, options);
  const tokens: TokenArrays = { oldLogp: rows.oldLogp, advantages: zero, targets, oldValues: zero };
  // Without the value clip: it bounds how far an iteration moves V, and would hold all of these steps near 0.
  const loss = { ...criticLoss(config), valueClip: 0 };
  for (let left = config.valuePretrain, pass = 128; left > 0; pass++)
    left -= (await criticPass(rows, tokens, loss, pass, alarms, options, left)).length;
}
