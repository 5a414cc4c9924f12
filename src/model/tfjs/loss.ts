/** The loss of ALGORITHM section 4 in tfjs operations, differentiated by tfjs. */
import * as tf from '@tensorflow/tfjs-core';
import type { LossOptions } from '../../core/algorithm/algorithm';

/** Constants of the loss, one number per trainable token of the micro-batch; all [p]. */
export interface LossColumns {
  /** Weight in L_π, H and k3: the step-wide denominators are inside, so micro-batches just add up. 0 for summary tokens
   *  when they are not trained. */
  readonly policyWeight: tf.Tensor1D;
  /** Weight in L_V. */
  readonly valueWeight: tf.Tensor1D;
  readonly oldLogp: tf.Tensor1D;
  readonly advantages: tf.Tensor1D;
  readonly targets: tf.Tensor1D;
  readonly oldValues: tf.Tensor1D;
  /** Present when klCoef is not 0. */
  readonly referenceLogp?: tf.Tensor1D;
}

/** Outputs of the model per trainable token, as tfjs values; all [p]. */
export interface ModelOutputs {
  readonly logp: tf.Tensor1D;
  /** Nats. */
  readonly entropy: tf.Tensor1D;
  readonly values: tf.Tensor1D;
}

/** −Σ w min(ρ Â, clip(ρ, 1 ± ε) Â). Source: Eq. 11–12. */
export function policyLoss(logp: tf.Tensor1D, columns: LossColumns, clip: number): tf.Scalar {
  const { policyWeight, oldLogp, advantages } = columns;
  // Where Â is 0 the term is 0, whatever ρ is; ρ itself may overflow.
  const ratio = tf.exp(tf.mul(tf.sub(logp, oldLogp), mask(tf.notEqual(advantages, 0))));
  const clipped = tf.clipByValue(ratio, 1 - clip, 1 + clip);
  return tf.neg(weightedSum(policyWeight, tf.minimum(tf.mul(ratio, advantages), tf.mul(clipped, advantages))));
}

/** Σ w ½ (V − R̂)², with `valueClip` > 0 the larger of it and the same for V kept within ± valueClip of V_old. */
export function valueLoss(values: tf.Tensor1D, columns: LossColumns, valueClip: number): tf.Scalar {
  let squares = tf.square(tf.sub(values, columns.targets));
  if (valueClip > 0) {
    const moved = tf.clipByValue(tf.sub(values, columns.oldValues), -valueClip, valueClip);
    const clipped = tf.square(tf.sub(tf.add(columns.oldValues, moved), columns.targets));
    squares = tf.maximum(squares, clipped);
  }
  return tf.mul(weightedSum(columns.valueWeight, squares), 0.5);
}

/** Σ w (e^{−d} − 1 + d), d = log π − log π_ref. */
export function klToReference(logp: tf.Tensor1D, columns: LossColumns): tf.Scalar {
  if (!columns.referenceLogp) throw new RangeError('no reference log-probs');
  const d = tf.sub(logp, columns.referenceLogp);
  return weightedSum(columns.policyWeight, tf.add(tf.sub(tf.exp(tf.neg(d)), 1), d));
}

/** L = L_π + c_V L_V − c_H H + β k3 over the tokens of a micro-batch. Terms with coefficient 0 are not built. */
export function microBatchLoss(outputs: ModelOutputs, columns: LossColumns, options: LossOptions): tf.Scalar {
  const { policyCoef, valueCoef, entropyCoef, klCoef } = options;
  // A token that is left out must not reach exp: its ratio may overflow, and 0 · ∞ is not 0.
  const included = mask(tf.greater(columns.policyWeight, 0));
  const include = (x: tf.Tensor1D) => tf.mul<tf.Tensor1D>(x, included);
  const logp = include(outputs.logp);
  const policy = {
    ...columns,
    oldLogp: include(columns.oldLogp),
    referenceLogp: columns.referenceLogp && include(columns.referenceLogp),
  };
  const terms: tf.Scalar[] = [];
  if (policyCoef !== 0) {
    const clone = options.objective === 'clone';
    const term = clone ? tf.neg(weightedSum(policy.policyWeight, logp)) : policyLoss(logp, policy, options.clip);
    terms.push(tf.mul(policyCoef, term));
  }
  if (valueCoef !== 0) terms.push(tf.mul(valueCoef, valueLoss(outputs.values, columns, options.valueClip)));
  if (entropyCoef !== 0) terms.push(tf.mul(-entropyCoef, weightedSum(columns.policyWeight, outputs.entropy)));
  if (klCoef !== 0) terms.push(tf.mul(klCoef, klToReference(logp, policy)));
  return tf.addN(terms);
}

function weightedSum(weights: tf.Tensor, x: tf.Tensor): tf.Scalar {
  return tf.sum(tf.mul(weights, x));
}

/** 1 where true, 0 where false. */
function mask(condition: tf.Tensor): tf.Tensor {
  return tf.cast(condition, 'float32');
}
