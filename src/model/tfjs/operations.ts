/** Two differentiable look-ups whose gradients sum in a fixed order; tfjs' own sum with atomics or do not exist. */
import * as tf from '@tensorflow/tfjs-core';

/**
 * table[ids]. Gradient: one-hot(ids)ᵀ · dy.
 * @param table [n, d]
 * @param ids [m] int32
 * @returns [m, d]
 */
export function embed(table: tf.Tensor2D, ids: tf.Tensor1D): tf.Tensor2D {
  const [n] = table.shape;
  return tf.customGrad<tf.Tensor2D>((x, save) => {
    // tfjs frees what the forward pass made before it runs backwards, except what is saved.
    (save as tf.GradSaveFunc)([ids]);
    return {
      value: tf.gather(x as tf.Tensor2D, ids),
      gradFunc: (dy, [saved]) => tf.matMul(tf.oneHot(saved!, n, 1, 0, 'float32') as tf.Tensor2D, dy, true),
    };
  })(table);
}

/**
 * x[rows] for rows that are all different. Gradient: row i of dy goes to row rows[i], zero elsewhere — again a gather,
 * from dy with a zero row behind it.
 * @param x [n, d]
 * @param rows [m], all different
 * @returns [m, d]
 */
export function takeRows(x: tf.Tensor2D, rows: Int32Array): tf.Tensor2D {
  const [n, d] = x.shape;
  const inverse = new Int32Array(n).fill(rows.length);
  rows.forEach((row, i) => {
    inverse[row] = i;
  });
  return tf.customGrad<tf.Tensor2D>((h) => ({
    value: tf.gather(h as tf.Tensor2D, tf.tensor1d(rows, 'int32')),
    gradFunc: (dy) => tf.gather(tf.concat([dy, tf.zeros<tf.Rank.R2>([1, d])], 0), tf.tensor1d(inverse, 'int32')),
  }))(x);
}
