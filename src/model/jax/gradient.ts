/**
 * Forward and backward passes over one padded micro-batch, to be compiled by `jit`. Look-ups stay outside of automatic
 * differentiation: the derivative of a gather is a scatter-add, which jax-js does with atomics on a GPU (so the same step
 * twice would differ) and outside of its compiled kernels elsewhere. Each look-up's derivative is written here instead.
 */
import { numpy as np, tree, valueAndGrad, vjp } from '@jax-js/jax';
import type { LossOptions } from '../../core/algorithm/algorithm';
import type { ModelShape } from '../parameters';
import { type LossColumns, type ModelOutputs, microBatchLoss } from './loss';
import {
  causalAttention,
  embed,
  type HeadName,
  hiddenStates,
  logProbabilities,
  splitWeights,
  stateValues,
  type Weights,
} from './policy';

/** One rectangle of `rows` × `length` tokens on the device; p trainable tokens, padding included. */
export type Rectangle = {
  /** [rows, length] int32 */
  ids: np.Array;
  /** [rows, length] int32, id of the token before; 0 at position 0. */
  previous: np.Array;
  /** [p] int32 where the hidden state that predicts each trainable token lies, 0 ≤ i < rows × length. */
  source: np.Array;
  /** [rows × length] int32 the inverse of `source`: number of the trainable token that a place predicts; p: none. */
  inverse: np.Array;
  /** [p] int32 ids of the trainable tokens. */
  targets: np.Array;
};

/** @returns [rows × length, d] */
function embedRectangle(tables: Weights, shape: ModelShape, ids: np.Array, previous: np.Array): np.Array {
  const positions = np.arange(ids.shape[1]!); // [length], broadcasts over the rows
  return embed(tables, { ids, previous, positions }, shape.previousToken).reshape([-1, shape.dModel]);
}

/**
 * Outputs of the trainable tokens.
 * @param hidden [p, d]
 * @param withPolicy false: log-probs and entropies are 0 and the language head is not run
 */
function outputsOf(heads: Weights, hidden: np.Array, targets: np.Array, withPolicy: boolean): ModelOutputs {
  const head = (name: HeadName) => heads[name]!;
  const values = stateValues(hidden.ref, head('value_head.weight'), head('value_head.bias'));
  if (!withPolicy) {
    for (const unused of [hidden, targets, head('lm_head.weight'), head('lm_head.bias')]) unused.dispose();
    return { logp: np.zerosLike(values.ref), entropy: np.zerosLike(values.ref), values };
  }
  const all = logProbabilities(hidden, head('lm_head.weight'), head('lm_head.bias')); // [p, V]
  const chosen = isToken(targets, all.shape[1]!); // [p, V]
  return {
    logp: np.sum(np.where(chosen, all.ref, 0), 1),
    entropy: np.negative(np.sum(np.exp(all.ref).mul(all), 1)),
    values,
  };
}

/** [..., V] true where the id of a token is the column's. */
function isToken(ids: np.Array, vocabulary: number): np.Array {
  return np.equal(np.expandDims(ids, -1), np.arange(vocabulary));
}

/** [3, p] log-probs, entropies, values: one array to read. */
function stacked({ logp, entropy, values }: ModelOutputs): np.Array {
  return np.stack([logp, entropy, values]);
}

/** Outputs of one rectangle, no gradient. @returns [3, p] */
export function scoreRectangle(shape: ModelShape, weights: Weights, rectangle: Rectangle): np.Array {
  const { tables, blocks, heads } = splitWeights(weights);
  const { ids, previous, source, inverse, targets } = rectangle;
  const [rows] = ids.shape as [number, number];
  inverse.dispose();
  const x = embedRectangle(tables, shape, ids, previous);
  const hidden = hiddenStates(blocks, shape, x, (_, q, fresh) => causalAttention(q, fresh, shape.heads, rows));
  return stacked(outputsOf(heads, hidden.slice(source), targets, true));
}

/**
 * Adds the gradient of one rectangle's loss to `sums`.
 * @param sums gradients so far by parameter name
 * @returns the new sums and [3 p + 1]: log-probs, entropies, values, the loss
 */
export function gradientRectangle(
  shape: ModelShape,
  options: LossOptions,
  weights: Weights,
  sums: Weights,
  rectangle: Rectangle,
  columns: LossColumns,
): { sums: Weights; report: np.Array } {
  const { dModel, vocabulary, positions } = shape;
  const { tables, blocks, heads } = splitWeights(weights);
  const { ids, previous, source, inverse, targets } = rectangle;
  const [rows, length] = ids.shape as [number, number];
  const withPolicy = options.policyCoef !== 0 || options.entropyCoef !== 0 || options.klCoef !== 0;

  const x = embedRectangle(tables, shape, ids.ref, previous.ref);
  const trunk = (parameters: Weights, embedded: np.Array) =>
    hiddenStates(parameters, shape, embedded, (_, q, fresh) => causalAttention(q, fresh, shape.heads, rows));
  const [hidden, pullBack] = vjp(trunk, [blocks, x]);
  const picked = hidden.slice(source); // [p, d]

  const headLoss = (parameters: Weights, states: np.Array, ids: np.Array, constants: LossColumns) => {
    const outputs = outputsOf(parameters, states, ids, withPolicy);
    return [microBatchLoss(tree.ref(outputs), constants, options), stacked(outputs)] as [np.Array, np.Array];
  };
  const [[loss, outputs], [headGradients, pickedGradient]] = valueAndGrad(headLoss, {
    argnums: [0, 1],
    hasAux: true,
  })(heads, picked, targets, columns) as unknown as [[np.Array, np.Array], [Weights, np.Array]];

  // Each place predicts at most one trainable token, so the scatter is again a gather, from a copy with a zero row.
  const padded = np.concatenate([pickedGradient, np.zeros([1, dModel])]);
  const [blockGradients, xGradient] = pullBack(padded.slice(inverse)) as [Weights, np.Array];
  const tableGradient = (ids: np.Array) =>
    np.matmul(np.transpose(isToken(ids.reshape([-1]), vocabulary).astype(np.float32)), xGradient.ref);
  const tableGradients: Weights = {
    wte: tableGradient(ids),
    wpe: np.pad(np.sum(xGradient.ref.reshape([rows, length, dModel]), 0), [
      [0, positions - length],
      [0, 0],
    ]),
  };
  if (shape.previousToken) tableGradients.wte_prev = tableGradient(previous);
  else previous.dispose();
  xGradient.dispose();

  const gradients: Weights = { ...tableGradients, ...blockGradients, ...headGradients };
  const added = Object.entries(sums).map(([name, sum]) => [name, sum.add(gradients[name]!)] as const);
  return {
    sums: Object.fromEntries(added),
    report: np.concatenate([outputs.reshape([-1]), loss.reshape([1])]),
  };
}
