/** Scores and whole-step gradients: padded micro-batches through the policy, summed. */
import * as tf from '@tensorflow/tfjs-core';
import type { LossOptions } from '../../core/algorithm/algorithm';
import { policyWeights } from '../../core/algorithm/loss';
import type { StepGradient } from '../autodiff/engine';
import { type PaddedRows, padRows } from '../autodiff/padded-rows';
import { emptyScores, scatterScores } from '../autodiff/scores';
import type { PackedRows, Scores, UpdateBatch } from '../engine';
import type { ModelShape } from '../parameters';
import { type LossColumns, type ModelOutputs, microBatchLoss } from './loss';
import type { Gradients, ModelState } from './model-state';
import { takeRows } from './operations';
import { causalMask, hiddenStates, logProbabilities, stateValues, type Weights } from './policy';

/**
 * Outputs for the trainable tokens of one rectangle. Call inside `tf.tidy` or `tf.variableGrads`.
 * @param withPolicy false: log-probs and entropies are 0 and the language head is not run
 */
function outputsOf(weights: Weights, shape: ModelShape, padded: PaddedRows, withPolicy: boolean): ModelOutputs {
  const ints = (values: Int32Array) => tf.tensor1d(values, 'int32');
  const grid = {
    rows: padded.rows,
    length: padded.length,
    ids: ints(padded.ids),
    previous: ints(padded.previous),
    positions: ints(padded.positions),
  };
  const hidden = hiddenStates(weights, shape, grid, causalMask(padded.length));
  const predicting = takeRows(hidden, padded.source); // [p, d]
  const values = stateValues(weights, predicting);
  if (!withPolicy) return { logp: tf.zerosLike(values), entropy: tf.zerosLike(values), values };
  const all = logProbabilities(weights, predicting); // [p, vocabulary]
  const chosen = tf.oneHot(ints(padded.targets), shape.vocabulary, 1, 0, 'float32');
  return {
    logp: tf.sum(tf.mul(all, chosen), 1),
    entropy: tf.neg(tf.sum(tf.mul(tf.exp(all), all), 1)),
    values,
  };
}

/** [3 p]: log-probs, entropies, values, for one read-back. */
function joined({ logp, entropy, values }: ModelOutputs): tf.Tensor1D {
  return tf.concat([logp, entropy, values]);
}

/**
 * Forward pass without gradient.
 * @param limit tokens of a micro-batch, padding included
 */
export async function scoreRows(
  model: ModelState,
  shape: ModelShape,
  rows: PackedRows,
  limit: number,
): Promise<Scores> {
  const scores = emptyScores(rows.trainable.length);
  for (const padded of padRows(rows, limit, shape.positions)) {
    const result = tf.tidy(() => joined(outputsOf(model.weights, shape, padded, true)));
    scatterScores(scores, padded.trainable, await result.data<'float32'>(), padded.trainable.length);
    result.dispose();
  }
  return scores;
}

/** Gradient of the loss of a whole optimiser step; nothing is applied. */
export async function stepGradient(
  model: ModelState,
  shape: ModelShape,
  batch: UpdateBatch,
  options: LossOptions,
  limit: number,
): Promise<StepGradient<Gradients>> {
  const gradients = new Map<string, tf.Tensor>();
  const scores = emptyScores(batch.trainable.length);
  let loss = 0;
  const withPolicy = options.policyCoef !== 0 || options.entropyCoef !== 0 || options.klCoef !== 0;
  if (!withPolicy && options.valueCoef === 0) return { gradients, loss, scores }; // no term, no gradient
  const columnsOf = columnMaker(batch, options);
  const names = [...model.weights.keys()];
  const variables = [...model.weights.values()];
  try {
    for (const padded of padRows(batch, limit, shape.positions)) {
      const result = tf.tidy(() => {
        let outputs: tf.Tensor1D | undefined;
        const { value, grads } = tf.variableGrads(() => {
          const scored = outputsOf(model.weights, shape, padded, withPolicy);
          outputs = tf.keep(joined(scored));
          return microBatchLoss(scored, columnsOf(padded.trainable), options);
        }, variables);
        variables.forEach((variable, i) => {
          const gradient = grads[variable.name];
          if (!gradient) return; // the loss does not depend on this parameter
          const sum = gradients.get(names[i]!);
          gradients.set(names[i]!, tf.keep(sum ? tf.add(sum, gradient) : tf.clone(gradient)));
          sum?.dispose();
        });
        const report = tf.concat([outputs!, tf.reshape(value, [1])]);
        outputs!.dispose();
        return report;
      });
      const data = await result.data<'float32'>();
      result.dispose();
      scatterScores(scores, padded.trainable, data, padded.trainable.length);
      loss += data[data.length - 1]!;
    }
  } catch (thrown) {
    tf.dispose([...gradients.values()]);
    throw thrown;
  }
  return { gradients, loss, scores };
}

/** The step-wide weights are computed once; each micro-batch then takes its tokens' share. */
function columnMaker(batch: UpdateBatch, options: LossOptions): (trainable: Int32Array) => LossColumns {
  const weights = policyWeights(batch, options);
  const valueWeight = 1 / Math.max(1, batch.trainable.length); // |M_V|: all trainable tokens, under every norm
  return (trainable) => {
    const column = (values: ArrayLike<number>) => tf.tensor1d(Float32Array.from(trainable, (p) => values[p]!));
    return {
      policyWeight: column(weights),
      valueWeight: tf.fill([trainable.length], valueWeight),
      oldLogp: column(batch.oldLogp),
      advantages: column(batch.advantages),
      targets: column(batch.targets),
      oldValues: column(batch.oldValues),
      ...(batch.referenceLogp && { referenceLogp: column(batch.referenceLogp) }),
    };
  };
}
