/**
 * Cross-segment generalised advantage estimation in float64: the reference of shaders/advantages.wgsl.
 * Source: CompactionRL Eq. 13–15, docs/algorithm.md section 3.
 */
import { mean, variance } from '../metrics/metrics';
import type { AdvantageBatch, AdvantageOptions, Numbers } from './algorithm';

export type LambdaScope = 'rollout' | 'segment' | 'fixed';

/**
 * Length-adaptive λ = 1 − 1/(α l) (VAPO). It falls below 0 when α l < 1, which for α ≥ 1 happens only at l = 0, where there
 * is no token to weigh; there it is 0. At α = 1.5: l = 1 gives 1/3, l = 2 gives 2/3.
 * @param length l, trainable tokens
 */
export function lengthAdaptiveLambda(length: number, alpha = 1.5): number {
  return Math.max(0, 1 - 1 / (alpha * length));
}

/**
 * λ of every row.
 * @param trainableStart [R + 1] tokens of each row
 * @param rolloutStart [N + 1] rows of each rollout
 * @param scope `rollout`: l counts the tokens of the rollout; `segment`: those of the row; `fixed`: `lambda` for all
 * @param lambda λ under `fixed`
 * @returns [R]
 */
export function lambdaPerRow(
  trainableStart: Numbers,
  rolloutStart: Numbers,
  scope: LambdaScope,
  lambda = 1,
  alpha = 1.5,
): Float64Array<ArrayBuffer> {
  const out = new Float64Array(trainableStart.length - 1).fill(lambda);
  if (scope === 'fixed') return out;
  for (let n = 0; n + 1 < rolloutStart.length; n++) {
    const from = rolloutStart[n]!;
    const end = rolloutStart[n + 1]!;
    const whole = trainableStart[end]! - trainableStart[from]!;
    for (let row = from; row < end; row++) {
      const own = trainableStart[row + 1]! - trainableStart[row]!;
      out[row] = lengthAdaptiveLambda(scope === 'rollout' ? whole : own, alpha);
    }
  }
  return out;
}

/** x^n for n ≥ 0 with x^0 = 1, also at x = 0, by squaring: `Math.pow` may differ between JavaScript engines. */
export function integerPower(x: number, n: number): number {
  let result = 1;
  for (let square = x, bits = n; bits > 0; bits = Math.floor(bits / 2), square *= square)
    if (bits % 2 === 1) result *= square;
  return result;
}

/** Inputs of `computeAdvantages`: an `AdvantageBatch` of any number type. */
export type AdvantageInput = { readonly [K in keyof AdvantageBatch]: Numbers };

/**
 * Advantages and critic targets. Rows without tokens are skipped and are nobody's last segment.
 * @returns [P] advantages (not scaled) and [P] targets
 */
export function computeAdvantages(
  batch: AdvantageInput,
  options: AdvantageOptions,
): { advantages: Float64Array<ArrayBuffer>; targets: Float64Array<ArrayBuffer> } {
  const { values, trainableStart, rolloutStart, rewards, lambda } = batch;
  const { mode, gamma } = options;
  const advantages = new Float64Array(values.length);
  const targets = new Float64Array(values.length);
  for (let n = 0; n < rewards.length; n++) {
    let after = 0; // N_{>s}
    let nextAdvantage = 0;
    let nextValue = 0;
    for (let row = rolloutStart[n + 1]! - 1; row >= rolloutStart[n]!; row--) {
      const from = trainableStart[row]!;
      const end = trainableStart[row + 1]!;
      if (from === end) continue;
      const onlyOnLast = mode === 'stitched' || mode === 'last-only';
      let reward = onlyOnLast && after > 0 ? 0 : rewards[n]!;
      if (mode !== 'stitched') {
        nextAdvantage = 0;
        nextValue = 0;
      }
      const decay = gamma * lambda[row]!;
      const factor = mode === 'paper' ? integerPower(decay, after) : 1;
      for (let p = end - 1; p >= from; p--) {
        const value = values[p]!;
        const local = reward + gamma * nextValue - value + decay * nextAdvantage;
        advantages[p] = factor * local;
        targets[p] = (options.valueTarget === 'corrected' ? factor * local : local) + value;
        nextAdvantage = local;
        nextValue = value;
        reward = 0;
      }
      after += end - from;
    }
  }
  return { advantages, targets };
}

/**
 * Advantage without a critic: (R − mean)/(std + 1e-6) over the rollouts of a group (population std), 0 where all rewards
 * of the group are equal. Each rollout counts once, however many segments it has. Source: SUPO, GRPO; `outcome`.
 * @param rewards [N], the rollouts of one task instance next to each other
 * @param groupSize rollouts per task instance
 * @returns [N] the advantage of every mask-1 token of the rollout
 */
export function outcomeAdvantages(rewards: Numbers, groupSize: number): Float64Array<ArrayBuffer> {
  const all = Float64Array.from(rewards);
  const out = new Float64Array(all.length);
  for (let from = 0; from < all.length; from += groupSize) {
    const group = all.subarray(from, from + groupSize);
    // Asked of the rewards themselves: the rounding of their mean can leave a variance above 0 among equals.
    if (group.every((reward) => reward === group[0])) continue;
    const centre = mean(group)!;
    const spread = Math.sqrt(variance(group)!);
    group.forEach((reward, i) => {
      out[from + i] = (reward - centre) / (spread + 1e-6);
    });
  }
  return out;
}

/** Smallest RMS that advantages are divided by. */
const RMS_FLOOR = 0.2;

/**
 * `rms`: Â / max(RMS over policy tokens, 0.2). No mean is subtracted: it can turn the last token of a success negative.
 * All tokens are scaled, but only policy tokens are counted: summaries that are not trained must not set the scale of
 * the others.
 * @param advantages [P] of a whole iteration, after the factor of Eq. 14
 * @param policyToken [P] 1 where the token is in the policy loss
 * @returns [P]
 */
export function scaleAdvantages(
  advantages: Numbers,
  policyToken: Numbers,
  scale: 'none' | 'rms',
): Float64Array<ArrayBuffer> {
  const out = Float64Array.from(advantages);
  if (scale === 'none') return out;
  let squares = 0;
  let count = 0;
  out.forEach((advantage, p) => {
    if (!policyToken[p]) return;
    squares += advantage ** 2;
    count++;
  });
  const divisor = Math.max(Math.sqrt(squares / Math.max(1, count)), RMS_FLOOR);
  return out.map((advantage) => advantage / divisor);
}
