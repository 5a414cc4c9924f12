/** Float64 references of single kernels, as plain loops over row-major arrays. Imports nothing from src. */

import { Tape } from './tape';
import { attentionRow, layerNorm, logSoftmax } from './transformer';

type Numbers = ArrayLike<number>;

/** x [n, k] · w [k, m] (+ bias). */
export function matmul(x: Numbers, w: Numbers, n: number, k: number, m: number, bias?: Numbers): number[] {
  const y = new Array<number>(n * m);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < m; j++) {
      let sum = bias ? bias[j]! : 0;
      for (let l = 0; l < k; l++) sum += x[i * k + l]! * w[l * m + j]!;
      y[i * m + j] = sum;
    }
  return y;
}

/** Transpose of a [rows, columns] matrix. */
export function transpose(a: Numbers, rows: number, columns: number): number[] {
  return Array.from({ length: rows * columns }, (_, i) => a[(i % rows) * columns + Math.floor(i / rows)]!);
}

/** Column sums of a [rows, columns] matrix. */
export function columnSums(a: Numbers, rows: number, columns: number): number[] {
  const sums = new Array<number>(columns).fill(0);
  for (let i = 0; i < rows * columns; i++) sums[i % columns]! += a[i]!;
  return sums;
}

const slice = (a: Numbers, from: number, count: number) => Array.from({ length: count }, (_, i) => a[from + i]!);

/** Layer norm of each row, and its gradients for an upstream gradient dy. */
export function layerNormStep(x: Numbers, weight: Numbers, bias: Numbers, dy: Numbers, rows: number, d: number) {
  const result = {
    y: [] as number[],
    stats: [] as number[],
    dx: [] as number[],
    dweight: new Array<number>(d).fill(0),
    dbias: new Array<number>(d).fill(0),
  };
  for (let r = 0; r < rows; r++) {
    const t = new Tape();
    const xs = t.leaves(slice(x, r * d, d));
    const ws = t.leaves(weight);
    const bs = t.leaves(bias);
    const y = layerNorm(t, xs, ws, bs);
    const g = t.backward(t.dot(y, t.leaves(slice(dy, r * d, d))));
    const values = slice(x, r * d, d);
    const mean = values.reduce((a, b) => a + b, 0) / d;
    const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / d;
    result.stats.push(mean, 1 / Math.sqrt(variance + 1e-5));
    result.y.push(...y.map((n) => t.value(n)));
    result.dx.push(...xs.map((n) => g[n]!));
    ws.forEach((n, c) => {
      result.dweight[c]! += g[n]!;
    });
    bs.forEach((n, c) => {
      result.dbias[c]! += g[n]!;
    });
  }
  return result;
}

/** Attention of packed rows, and the gradient of qkv for an upstream gradient dout. */
export function attentionStep(qkv: Numbers, dout: Numbers, lengths: readonly number[], heads: number, d: number) {
  const out: number[] = [];
  const dqkv: number[] = [];
  const lse: number[] = [];
  let at = 0;
  for (const length of lengths) {
    const t = new Tape();
    const rows = Array.from({ length }, (_, i) => t.leaves(slice(qkv, (at + i) * 3 * d, 3 * d)));
    const attended = attentionRow(t, rows, heads).flat();
    const g = t.backward(t.dot(attended, t.leaves(slice(dout, at * d, length * d))));
    out.push(...attended.map((n) => t.value(n)));
    dqkv.push(...rows.flat().map((n) => g[n]!));
    const width = d / heads;
    for (let i = 0; i < length; i++)
      for (let h = 0; h < heads; h++) {
        let sum = 0;
        for (let j = 0; j <= i; j++) {
          let score = 0;
          for (let c = h * width; c < (h + 1) * width; c++)
            score += qkv[(at + i) * 3 * d + c]! * qkv[(at + j) * 3 * d + d + c]!;
          sum += Math.exp(score / Math.sqrt(width));
        }
        lse.push(Math.log(sum));
      }
    at += length;
  }
  return { out, dqkv, lse };
}

/** Log-prob of the target, entropy, log-sum-exp, and the gradient of gradLogp · logp + gradEntropy · H by the logits. */
export function softmaxStep(
  logits: Numbers,
  targets: Numbers,
  gradLogp: Numbers,
  gradEntropy: Numbers,
  vocabulary: number,
) {
  const result = { logp: [] as number[], entropy: [] as number[], lse: [] as number[], dlogits: [] as number[] };
  for (let p = 0; p < targets.length; p++) {
    const t = new Tape();
    const row = t.leaves(slice(logits, p * vocabulary, vocabulary));
    const logProbs = logSoftmax(t, row);
    const logp = logProbs[targets[p]!]!;
    const entropy = t.scale(t.sum(logProbs.map((v) => t.mul(v, t.exp(v)))), -1);
    const g = t.backward(t.add(t.scale(logp, gradLogp[p]!), t.scale(entropy, gradEntropy[p]!)));
    result.logp.push(t.value(logp));
    result.entropy.push(t.value(entropy));
    result.lse.push(t.value(row[0]!) - t.value(logProbs[0]!));
    result.dlogits.push(...row.map((n) => g[n]!));
  }
  return result;
}
