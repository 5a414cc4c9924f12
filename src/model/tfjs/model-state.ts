/** Parameters and Adam moments of one model as tfjs variables, and their way from and to the flat layout. */
import * as tf from '@tensorflow/tfjs-core';
import type { AutodiffModel } from '../autodiff/engine';
import type { OptimiserOptions, OptimiserState } from '../engine';
import { checkParameterCount, type ParameterLayout } from '../parameters';

type Variables = ReadonlyMap<string, tf.Variable>;

/** Gradients by parameter name; an absent one is zero. The holder disposes them. */
export type Gradients = ReadonlyMap<string, tf.Tensor>;

export class ModelState implements AutodiffModel<Gradients> {
  readonly weights: Variables;
  private readonly first: Variables;
  private readonly second: Variables;
  private step = 0;

  /** @param layout of all flat arrays below. `dispose` frees the variables. */
  constructor(private readonly layout: ParameterLayout) {
    const make = (trainable: boolean) => {
      const variables = new Map<string, tf.Variable>();
      // Tidied: a variable copies its initial tensor, which would otherwise stay. Variables outlive `tidy`.
      tf.tidy(() => {
        for (const { name, shape } of layout.entries) variables.set(name, tf.variable(tf.zeros([...shape]), trainable));
      });
      return variables;
    };
    this.weights = make(true);
    this.first = make(false);
    this.second = make(false);
  }

  /** Overwrites the parameters and zeroes the optimiser. @param flat [layout.total] */
  setParameters(flat: Float32Array): void {
    this.write(this.weights, flat);
    const zeros = new Float32Array(this.layout.total);
    this.setOptimiser({ m: zeros, v: zeros, step: 0 });
  }

  /** @returns [layout.total], padding zero */
  parameters(): Promise<Float32Array> {
    return this.flatten(this.weights);
  }

  setOptimiser({ m, v, step }: OptimiserState): void {
    this.write(this.first, m);
    this.write(this.second, v);
    this.step = step;
  }

  async optimiser(): Promise<OptimiserState> {
    return { m: await this.flatten(this.first), v: await this.flatten(this.second), step: this.step };
  }

  /** Tensors by name → one flat array. @returns [layout.total], 0 where a tensor is absent */
  async flatten(tensors: ReadonlyMap<string, tf.Tensor>): Promise<Float32Array> {
    const flat = new Float32Array(this.layout.total);
    const present = this.layout.entries.filter((entry) => tensors.has(entry.name));
    if (present.length === 0) return flat;
    const joined = tf.tidy(() => tf.concat(present.map((entry) => tf.reshape(tensors.get(entry.name)!, [-1]))));
    const data = await joined.data<'float32'>();
    joined.dispose();
    let at = 0;
    for (const { offset, size } of present) {
      flat.set(data.subarray(at, at + size), offset);
      at += size;
    }
    return flat;
  }

  /**
   * One Adam step on every parameter: m̂ / (√v̂ + ε), moments bias-corrected.
   * Source: Kingma & Ba, arXiv 1412.6980, algorithm 1.
   * @param gradNorm global norm of `gradients`, for the clip
   */
  adam(gradients: Gradients, gradNorm: number, options: OptimiserOptions): void {
    const { learningRate, beta1, beta2, epsilon, gradClip } = options;
    const scale = gradClip > 0 && gradNorm > gradClip ? gradClip / gradNorm : 1;
    this.step++;
    const correction1 = 1 - beta1 ** this.step;
    const correction2 = 1 - beta2 ** this.step;
    tf.tidy(() => {
      for (const { name, shape } of this.layout.entries) {
        const weight = this.weights.get(name)!;
        const m = this.first.get(name)!;
        const v = this.second.get(name)!;
        const gradient = tf.mul(gradients.get(name) ?? tf.zeros([...shape]), scale);
        m.assign(tf.add(tf.mul(m, beta1), tf.mul(gradient, 1 - beta1)));
        v.assign(tf.add(tf.mul(v, beta2), tf.mul(tf.square(gradient), 1 - beta2)));
        const change = tf.div(tf.div(m, correction1), tf.add(tf.sqrt(tf.div(v, correction2)), epsilon));
        weight.assign(tf.sub(weight, tf.mul(change, learningRate)));
      }
    });
  }

  dispose(): void {
    for (const variables of [this.weights, this.first, this.second])
      for (const variable of variables.values()) variable.dispose();
  }

  private write(variables: Variables, flat: Float32Array): void {
    checkParameterCount(flat, this.layout);
    tf.tidy(() => {
      for (const { name, shape, offset, size } of this.layout.entries)
        variables.get(name)!.assign(tf.tensor(flat.slice(offset, offset + size), [...shape]));
    });
  }
}

/** √ Σ g² over all parameters; NaN or ∞ anywhere makes it NaN or ∞. */
export async function globalNorm(gradients: Gradients): Promise<number> {
  if (gradients.size === 0) return 0;
  const squares = tf.tidy(() => tf.stack([...gradients.values()].map((g) => tf.sum(tf.square(g)))));
  const sums = await squares.data<'float32'>();
  squares.dispose();
  return Math.sqrt(sums.reduce((a, b) => a + b, 0));
}
