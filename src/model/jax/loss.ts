/** The loss of docs/algorithm.md section 4 in jax-js, differentiated by jax-js. */
import { numpy as np } from '@jax-js/jax';
import type { LossOptions } from '../../core/algorithm/algorithm';

/** Constants of the loss per trainable token of a micro-batch, all [p]. Padding has weights 0. */
export type LossColumns = {
  /** Weight in L_π, H and k3: the step-wide denominators are inside, so micro-batches add up. 0: left out. */
  policyWeight: np.Array;
  /** Weight in L_V. */
  valueWeight: np.Array;
  oldLogp: np.Array;
  advantages: np.Array;
  targets: np.Array;
  oldValues: np.Array;
  /** Read when klCoef is not 0; otherwise anything of that shape. */
  referenceLogp: np.Array;
};

/** Outputs of the model per trainable token, all [p]; entropy in nats. */
export type ModelOutputs = { logp: np.Array; entropy: np.Array; values: np.Array };

/**
 * L = policyCoef L_π + c_V L_V − c_H H + β k3 over the tokens of a micro-batch; terms with coefficient 0 are not built.
 * Source: Eq. 11–12. Consumes its arguments.
 */
export function microBatchLoss(outputs: ModelOutputs, columns: LossColumns, options: LossOptions): np.Array {
  const { policyCoef, valueCoef, entropyCoef, klCoef } = options;
  const { policyWeight, valueWeight } = columns;
  // A token that is left out must not reach exp: its ratio may overflow, and 0 · ∞ is not 0.
  const included = np.greater(policyWeight.ref, 0);
  const kept = (x: np.Array) => np.where(included.ref, x, 0);
  const logp = kept(outputs.logp);
  const terms: np.Array[] = [];
  if (policyCoef !== 0) {
    const objective =
      options.objective === 'clone'
        ? logp.ref
        : clippedSurrogate(logp.ref.sub(kept(columns.oldLogp.ref)), columns.advantages.ref, options.clip);
    terms.push(weightedSum(policyWeight.ref, objective).mul(-policyCoef));
  }
  if (entropyCoef !== 0) terms.push(weightedSum(policyWeight.ref, outputs.entropy.ref).mul(-entropyCoef));
  if (klCoef !== 0) {
    const d = logp.ref.sub(kept(columns.referenceLogp.ref));
    const k3 = np.exp(np.negative(d.ref)).sub(1).add(d);
    terms.push(weightedSum(policyWeight.ref, k3).mul(klCoef));
  }
  if (valueCoef !== 0) {
    const squares = valueSquares(outputs.values.ref, columns, options.valueClip);
    terms.push(weightedSum(valueWeight.ref, squares).mul(0.5 * valueCoef));
  }
  for (const unused of [included, logp, outputs.entropy, outputs.values, ...Object.values(columns)]) unused.dispose();
  return terms.reduce((a, b) => a.add(b));
}

/** min(ρ Â, clip(ρ, 1 ± ε) Â); 0 where Â is 0, whatever ρ is, for ρ may overflow. @param logRatio ln ρ; consumed */
function clippedSurrogate(logRatio: np.Array, advantages: np.Array, clip: number): np.Array {
  const ratio = np.exp(np.where(np.notEqual(advantages.ref, 0), logRatio, 0));
  const clipped = np.clip(ratio.ref, 1 - clip, 1 + clip).mul(advantages.ref);
  return np.minimum(ratio.mul(advantages), clipped);
}

/** (V − R̂)², with `valueClip` > 0 the larger of it and the same for V kept within ± valueClip of V_old. */
function valueSquares(values: np.Array, columns: LossColumns, valueClip: number): np.Array {
  const squares = np.square(values.ref.sub(columns.targets.ref));
  if (valueClip === 0) {
    values.dispose();
    return squares;
  }
  const moved = np.clip(values.sub(columns.oldValues.ref), -valueClip, valueClip);
  const clipped = np.square(columns.oldValues.ref.add(moved).sub(columns.targets.ref));
  return np.maximum(squares, clipped);
}

function weightedSum(weights: np.Array, x: np.Array): np.Array {
  return np.sum(weights.mul(x));
}
