/**
 * The model and its loss in float64, written from src/model/parameters.ts's description and docs/algorithm.md section 4, on a
 * tape of scalars: forward values and gradients come from the same few lines. Imports nothing from src.
 */
import { Tape } from './tape';

export interface OracleShape {
  readonly vocabulary: number;
  readonly dModel: number;
  readonly layers: number;
  readonly heads: number;
  readonly mlp: number;
  readonly previousToken: boolean;
}

/** A named tensor's node numbers, row-major. */
export type Nodes = Readonly<Record<string, readonly number[]>>;

export interface OracleRows {
  /** Token ids of each row. */
  readonly rows: readonly (readonly number[])[];
  /** Positions of the trainable tokens in each row, ascending, none 0. */
  readonly trainable: readonly (readonly number[])[];
}

/** Nodes of log-prob, entropy and value of every trainable token. */
export interface OracleOutputs {
  readonly logp: number[];
  readonly entropy: number[];
  readonly values: number[];
}

/** (x − mean) / sqrt(var + 1e-5) · weight + bias */
export function layerNorm(t: Tape, x: readonly number[], weight: readonly number[], bias: readonly number[]): number[] {
  const mean = t.scale(t.sum(x), 1 / x.length);
  const centred = x.map((v) => t.sub(v, mean));
  const variance = t.scale(t.dot(centred, centred), 1 / x.length);
  const inverse = t.power(t.shift(variance, 1e-5), -0.5);
  return centred.map((v, i) => t.fma(t.mul(v, inverse), weight[i]!, bias[i]!));
}

/** x W + b with W [in, out] row-major. */
export function affine(t: Tape, x: readonly number[], weight: readonly number[], bias: readonly number[]): number[] {
  const out = bias.length;
  return bias.map((b, j) => {
    let sum = b;
    x.forEach((v, i) => {
      sum = t.fma(v, weight[i * out + j]!, sum);
    });
    return sum;
  });
}

/** Log-softmax. */
export function logSoftmax(t: Tape, scores: readonly number[]): number[] {
  // The largest is subtracted as a constant: the result and its derivative do not depend on it.
  const top = Math.max(...scores.map((s) => t.value(s)));
  const lse = t.shift(t.log(t.sum(scores.map((s) => t.exp(t.shift(s, -top))))), top);
  return scores.map((s) => t.sub(s, lse));
}

/** Causal attention of one row: qkv[token] holds query, key, value, each head-major. */
export function attentionRow(t: Tape, qkv: readonly (readonly number[])[], heads: number): number[][] {
  const d = qkv[0]!.length / 3;
  const width = d / heads;
  return qkv.map((query, i) => {
    const out: number[] = [];
    for (let h = 0; h < heads; h++) {
      const q = query.slice(h * width, (h + 1) * width);
      const scores = qkv
        .slice(0, i + 1)
        .map((key) => t.scale(t.dot(q, key.slice(d + h * width, d + (h + 1) * width)), 1 / Math.sqrt(width)));
      const weights = logSoftmax(t, scores).map((s) => t.exp(s));
      for (let c = 0; c < width; c++)
        out.push(
          t.dot(
            weights,
            qkv.slice(0, i + 1).map((value) => value[2 * d + h * width + c]!),
          ),
        );
    }
    return out;
  });
}

/** Runs the model over rows. */
export function forward(t: Tape, shape: OracleShape, p: Nodes, { rows, trainable }: OracleRows): OracleOutputs {
  const { dModel: d, vocabulary } = shape;
  const at = (name: string, row: number) => p[name]!.slice(row * d, (row + 1) * d);
  const outputs: OracleOutputs = { logp: [], entropy: [], values: [] };
  const plus = (a: readonly number[], b: readonly number[]) => a.map((v, i) => t.add(v, b[i]!));
  rows.forEach((ids, r) => {
    let x = ids.map((id, i) => {
      const sum = plus(at('wte', id), at('wpe', i));
      return shape.previousToken ? plus(sum, at('wte_prev', i > 0 ? ids[i - 1]! : 0)) : sum;
    });
    for (let l = 0; l < shape.layers; l++) {
      const w = (name: string) => p[`h.${l}.${name}`]!;
      const normed = x.map((v) => layerNorm(t, v, w('ln_1.weight'), w('ln_1.bias')));
      const qkv = normed.map((v) => affine(t, v, w('attn.qkv.weight'), w('attn.qkv.bias')));
      const attended = attentionRow(t, qkv, shape.heads);
      x = x.map((v, i) => plus(v, affine(t, attended[i]!, w('attn.proj.weight'), w('attn.proj.bias'))));
      x = x.map((v) => {
        const h = layerNorm(t, v, w('ln_2.weight'), w('ln_2.bias'));
        const hidden = affine(t, h, w('mlp.fc.weight'), w('mlp.fc.bias')).map((u) => t.relu(u));
        return plus(v, affine(t, hidden, w('mlp.proj.weight'), w('mlp.proj.bias')));
      });
    }
    for (const i of trainable[r]!) {
      const h = layerNorm(t, x[i - 1]!, p['ln_f.weight']!, p['ln_f.bias']!);
      const logProbs = logSoftmax(t, affine(t, h, p['lm_head.weight']!, p['lm_head.bias']!));
      if (logProbs.length !== vocabulary) throw new Error('vocabulary');
      outputs.logp.push(logProbs[ids[i]!]!);
      outputs.entropy.push(t.scale(t.sum(logProbs.map((v) => t.mul(v, t.exp(v)))), -1));
      outputs.values.push(affine(t, h, p['value_head.weight']!, p['value_head.bias']!)[0]!);
    }
  });
  return outputs;
}

export interface OracleBatch {
  readonly oldLogp: ArrayLike<number>;
  readonly advantages: ArrayLike<number>;
  readonly targets: ArrayLike<number>;
  readonly oldValues: ArrayLike<number>;
  readonly referenceLogp?: ArrayLike<number>;
}

export interface OracleLoss {
  readonly policyCoef: number;
  readonly valueCoef: number;
  readonly entropyCoef: number;
  readonly klCoef: number;
  readonly clip: number;
  readonly valueClip: number;
}

/** L of docs/algorithm.md section 4 under `token` normalisation, all tokens trained. @returns its node */
export function loss(t: Tape, out: OracleOutputs, batch: OracleBatch, o: OracleLoss): number {
  const terms = out.logp.map((logp, p) => {
    const ratio = t.exp(t.shift(logp, -batch.oldLogp[p]!));
    const advantage = batch.advantages[p]!;
    const surrogate = t.min(t.scale(ratio, advantage), t.scale(t.clamp(ratio, 1 - o.clip, 1 + o.clip), advantage));
    let sum = t.scale(surrogate, -o.policyCoef);
    const value = out.values[p]!;
    const square = (v: number) => t.power(t.shift(v, -batch.targets[p]!), 2);
    const old = batch.oldValues[p]!;
    const clipped = o.valueClip > 0 ? t.clamp(value, old - o.valueClip, old + o.valueClip) : value;
    sum = t.add(sum, t.scale(t.max(square(value), square(clipped)), 0.5 * o.valueCoef));
    sum = t.add(sum, t.scale(out.entropy[p]!, -o.entropyCoef));
    if (o.klCoef > 0) {
      const d = t.shift(logp, -batch.referenceLogp![p]!);
      const k3 = t.shift(t.add(t.exp(t.scale(d, -1)), d), -1);
      sum = t.add(sum, t.scale(k3, o.klCoef));
    }
    return sum;
  });
  return t.scale(t.sum(terms), 1 / terms.length);
}

/** Forward pass, loss and its gradient by every parameter. */
export function oracleStep(
  shape: OracleShape,
  parameters: Readonly<Record<string, ArrayLike<number>>>,
  rows: OracleRows,
  batch: OracleBatch,
  options: OracleLoss,
) {
  const t = new Tape();
  const nodes: Record<string, number[]> = {};
  for (const [name, values] of Object.entries(parameters)) nodes[name] = t.leaves(values);
  const out = forward(t, shape, nodes, rows);
  const total = loss(t, out, batch, options);
  const by = t.backward(total);
  const values = (list: readonly number[]) => list.map((n) => t.value(n));
  return {
    loss: t.value(total),
    logp: values(out.logp),
    entropy: values(out.entropy),
    values: values(out.values),
    gradient: Object.fromEntries(Object.entries(nodes).map(([name, list]) => [name, list.map((n) => by[n]!)])),
  };
}

/** One Adam step in float64 with clipping by the global norm. */
export function adamStep(
  state: { p: number[]; m: number[]; v: number[]; step: number },
  gradient: readonly number[],
  o: { learningRate: number; beta1: number; beta2: number; epsilon: number; gradClip: number },
) {
  const norm = Math.sqrt(gradient.reduce((s, g) => s + g * g, 0));
  const factor = o.gradClip > 0 && norm > o.gradClip ? o.gradClip / norm : 1;
  const step = state.step + 1;
  const m = state.m.map((x, i) => o.beta1 * x + (1 - o.beta1) * gradient[i]! * factor);
  const v = state.v.map((x, i) => o.beta2 * x + (1 - o.beta2) * (gradient[i]! * factor) ** 2);
  const p = state.p.map((x, i) => {
    const corrected = v[i]! / (1 - o.beta2 ** step);
    return x - (o.learningRate * (m[i]! / (1 - o.beta1 ** step))) / (Math.sqrt(corrected) + o.epsilon);
  });
  return { p, m, v, step, norm };
}
