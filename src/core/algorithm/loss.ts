/**
 * The loss of one optimiser step in float64: the reference of the loss kernels.
 * Source: CompactionRL Eq. 11–12, docs/algorithm.md section 4.
 */
import { LabError } from '../errors';
import type { LossBatch, LossNorm, LossOptions, LossStats, Numbers } from './algorithm';

/** A term of one token and its derivative by the model output it depends on. */
export interface Term {
  readonly value: number;
  readonly slope: number;
}

/**
 * Clipped surrogate min(ρÂ, clip(ρ, 1 ± ε)Â), to be maximised, and its derivative by log π. PPO, Eq. 7.
 * @param logRatio ln ρ = log π − log π_old
 */
export function clippedSurrogate(logRatio: number, advantage: number, clip: number): Term {
  const change = Math.expm1(logRatio);
  // Â = 0 apart: ρ may have overflowed. A NaN falls through to the last line.
  if (advantage === 0) return { value: 0, slope: 0 };
  if (advantage > 0 && change > clip) return { value: (1 + clip) * advantage, slope: 0 };
  if (advantage < 0 && change < -clip) return { value: (1 - clip) * advantage, slope: 0 };
  const value = (1 + change) * advantage;
  return { value, slope: value };
}

/**
 * Value loss ½ max[(V − R̂)², (V_old + clip(V − V_old, ±ε_v) − R̂)²] and its derivative by V.
 * @param valueClip ε_v; 0 switches the clip off
 */
export function valueLoss(value: number, target: number, oldValue: number, valueClip: number): Term {
  const error = value - target;
  const change = value - oldValue;
  if (valueClip > 0 && Math.abs(change) > valueClip) {
    const clippedError = oldValue + Math.sign(change) * valueClip - target;
    if (clippedError ** 2 > error ** 2) return { value: 0.5 * clippedError ** 2, slope: 0 };
  }
  return { value: 0.5 * error ** 2, slope: error };
}

/** e^x − 1 − x without cancellation near 0. */
export function expm1Minus(x: number): number {
  if (Math.abs(x) >= 0.5) return Math.exp(x) - 1 - x;
  let series = 1;
  for (let k = 20; k >= 3; k--) series = 1 + (series * x) / k;
  return 0.5 * x * x * series;
}

/** k3 = e^(−d) − 1 + d, an unbiased estimate of KL(π‖π_ref), and its derivative by log π. @param d log π − log π_ref */
export function k3(d: number): Term {
  return { value: expm1Minus(-d), slope: -Math.expm1(-d) };
}

/** Shape of the rows that weights depend on. */
export type LossRows = Pick<LossBatch, 'kind' | 'rollout' | 'trainableStart'>;

/**
 * The weight of each token in L_π, H and k3; 0 for tokens left out. Segments and rollouts that keep no policy token leave
 * the number of segments and rollouts; under `split` a kind without tokens adds 0.
 * @returns [P]
 */
export function policyWeights(
  rows: LossRows,
  options: { readonly lossNorm: LossNorm; readonly trainSummary: boolean },
): Float64Array<ArrayBuffer> {
  const { kind, rollout, trainableStart } = rows;
  const count = kind.length;
  const tokens = Array.from({ length: count }, (_, r) =>
    kind[r] === 1 && !options.trainSummary ? 0 : trainableStart[r + 1]! - trainableStart[r]!,
  );
  const perRollout = new Map<number, number>();
  const perKind = [0, 0];
  let all = 0;
  let segments = 0;
  tokens.forEach((n, r) => {
    if (n === 0) return;
    perRollout.set(rollout[r]!, (perRollout.get(rollout[r]!) ?? 0) + n);
    perKind[kind[r]!]! += n;
    all += n;
    segments++;
  });
  const denominator: Record<LossNorm, (row: number) => number> = {
    token: () => all,
    segment: (r) => segments * tokens[r]!,
    rollout: (r) => perRollout.size * perRollout.get(rollout[r]!)!,
    split: (r) => perKind[kind[r]!]!,
  };
  const out = new Float64Array(trainableStart[count] ?? 0);
  tokens.forEach((n, r) => {
    if (n > 0) out.fill(1 / denominator[options.lossNorm](r), trainableStart[r]!, trainableStart[r + 1]!);
  });
  return out;
}

/** Loss of a step and its derivatives by the model's outputs. All arrays [P]. */
export interface StepLoss {
  readonly stats: LossStats;
  /** dL/dlog π */
  readonly gradLogp: Float64Array<ArrayBuffer>;
  /** dL/dH */
  readonly gradEntropy: Float64Array<ArrayBuffer>;
  /** dL/dV */
  readonly gradValues: Float64Array<ArrayBuffer>;
}

/**
 * L = policyCoef L_π + c_V L_V − c_H H + β k3 of one optimiser step.
 * @param logp [P] log π, nats
 * @param entropy [P] entropy of the full softmax, nats
 * @param values [P] V
 * @throws `loss.no-reference` when klCoef is not 0 and the batch has no reference log-probs
 */
export function stepLoss(
  batch: LossBatch,
  logp: Numbers,
  entropy: Numbers,
  values: Numbers,
  options: LossOptions,
): StepLoss {
  const { policyCoef, valueCoef, entropyCoef, klCoef } = options;
  const tokens = batch.oldLogp.length;
  const reference = klCoef === 0 ? undefined : requireReference(batch);
  const weights = policyWeights(batch, options);
  const hasPolicyTerms = policyCoef !== 0 || entropyCoef !== 0 || klCoef !== 0;
  const gradLogp = new Float64Array(tokens);
  const gradEntropy = new Float64Array(tokens);
  const gradValues = new Float64Array(tokens);
  const total = { loss: 0, policyLoss: 0, valueLoss: 0, entropy: 0, kl: 0, clipped: 0, maxRatioError: 0 };
  let policyTokens = 0;
  let finite = true;
  for (let p = 0; p < tokens; p++) {
    const weight = weights[p]!;
    if (hasPolicyTerms) finite &&= Number.isFinite(logp[p]) && Number.isFinite(entropy[p]);
    if (hasPolicyTerms && weight > 0) {
      let objective: Term = { value: logp[p]!, slope: 1 };
      if (options.objective === 'ppo') {
        const logRatio = logp[p]! - batch.oldLogp[p]!;
        const ratioError = Math.abs(Math.expm1(logRatio));
        objective = clippedSurrogate(logRatio, batch.advantages[p]!, options.clip);
        finite &&= Number.isFinite(logRatio) && Number.isFinite(batch.advantages[p]);
        total.kl += expm1Minus(logRatio);
        total.clipped += ratioError > options.clip ? 1 : 0;
        total.maxRatioError = Math.max(total.maxRatioError, ratioError);
      }
      policyTokens++;
      total.entropy += entropy[p]!;
      total.policyLoss -= weight * objective.value;
      total.loss -= weight * (policyCoef * objective.value + entropyCoef * entropy[p]!);
      gradLogp[p] = -policyCoef * weight * objective.slope;
      gradEntropy[p] = -entropyCoef * weight;
      if (reference) {
        const term = k3(logp[p]! - reference[p]!);
        total.loss += klCoef * weight * term.value;
        gradLogp[p]! += klCoef * weight * term.slope;
      }
    }
    if (valueCoef !== 0) {
      const term = valueLoss(values[p]!, batch.targets[p]!, batch.oldValues[p]!, options.valueClip);
      finite &&= options.valueClip === 0 || Number.isFinite(batch.oldValues[p]);
      total.valueLoss += term.value / tokens;
      total.loss += (valueCoef * term.value) / tokens;
      gradValues[p] = (valueCoef * term.slope) / tokens;
    }
    finite &&= Number.isFinite(gradLogp[p]) && Number.isFinite(gradValues[p]);
  }
  const perToken = 1 / Math.max(1, policyTokens);
  return {
    stats: {
      loss: total.loss,
      policyLoss: total.policyLoss,
      valueLoss: total.valueLoss,
      entropy: total.entropy * perToken,
      kl: total.kl * perToken,
      clipFraction: total.clipped * perToken,
      maxRatioError: total.maxRatioError,
      policyTokens,
      valueTokens: tokens,
      nonFinite: !finite || !Number.isFinite(total.loss),
    },
    gradLogp,
    gradEntropy,
    gradValues,
  };
}

function requireReference(batch: LossBatch): Numbers {
  if (batch.referenceLogp) return batch.referenceLogp;
  throw new LabError({
    code: 'loss.no-reference',
    what: 'The KL term needs log-probs of the reference policy',
    where: 'referenceLogp',
    expected: `${batch.oldLogp.length} numbers`,
    got: 'none',
    fix: 'Score the batch with the reference model, or set klCoef to 0.',
  });
}
