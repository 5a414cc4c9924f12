/** Scores of a batch, filled micro-batch by micro-batch. */
import type { Scores } from '../engine';

/** @param tokens trainable tokens of the batch */
export function emptyScores(tokens: number): Scores {
  return {
    logp: new Float32Array(tokens),
    entropy: new Float32Array(tokens),
    values: new Float32Array(tokens),
  };
}

/**
 * Writes one micro-batch's outputs to their places in the batch.
 * @param trainable [p] places in the batch
 * @param report [3 × stride …] log-probs, entropies, values
 * @param stride at least p: tokens of the micro-batch, padding included
 */
export function scatterScores(scores: Scores, trainable: Int32Array, report: Float32Array, stride: number): void {
  trainable.forEach((p, i) => {
    scores.logp[p] = report[i]!;
    scores.entropy[p] = report[stride + i]!;
    scores.values[p] = report[2 * stride + i]!;
  });
}
