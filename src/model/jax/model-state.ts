/** Parameters and Adam moments of one model as arrays by name, and their way from and to the flat layout. */
import { jit, numpy as np, tree } from '@jax-js/jax';
import type { AutodiffModel } from '../autodiff/engine';
import type { OptimiserOptions, OptimiserState } from '../engine';
import { checkParameterCount, type ParameterLayout } from '../parameters';
import { type ArrayMaker, read } from './device';
import type { Weights } from './policy';

type Moments = { weights: Weights; first: Weights; second: Weights };

/**
 * One Adam step: m̂ / (√v̂ + ε), moments bias-corrected.
 * Source: Kingma & Ba, arXiv 1412.6980, algorithm 1.
 * @param scalars [8] factor of the gradients, β₁, 1 − β₁, β₂, 1 − β₂, learning rate / correction₁, 1 / correction₂, ε
 */
const adamStep = jit(function adam(state: Moments, gradients: Weights, scalars: np.Array): Moments {
  const out: Moments = { weights: {}, first: {}, second: {} };
  const scalar = (i: number) => scalars.ref.slice(i);
  for (const [name, weight] of Object.entries(state.weights)) {
    const gradient = gradients[name]!.mul(scalar(0));
    const m = state.first[name]!.mul(scalar(1)).add(gradient.ref.mul(scalar(2)));
    const v = state.second[name]!.mul(scalar(3)).add(np.square(gradient).mul(scalar(4)));
    const root = np.sqrt(v.ref.mul(scalar(6))).add(scalar(7));
    out.weights[name] = weight.sub(m.ref.mul(scalar(5)).div(root));
    out.first[name] = m;
    out.second[name] = v;
  }
  scalars.dispose();
  return out;
});

/** Σ g² over all arrays. */
const squareSum = jit(function squareSum(gradients: Weights): np.Array {
  return Object.values(gradients)
    .map((gradient) => np.sum(np.square(gradient)))
    .reduce((a, b) => a.add(b));
});

/** √ Σ g² over all gradients; NaN or ∞ anywhere makes it NaN or ∞. */
export async function globalNorm(gradients: Weights): Promise<number> {
  return Math.sqrt((await read(squareSum(tree.ref(gradients))))[0]!);
}

export class ModelState implements AutodiffModel<Weights> {
  private state: Moments;
  private step = 0;

  /** All parameters and moments are zero. @param layout of all flat arrays below; `dispose` frees the arrays */
  constructor(
    private readonly layout: ParameterLayout,
    private readonly make: ArrayMaker,
  ) {
    this.state = { weights: this.zeros(), first: this.zeros(), second: this.zeros() };
  }

  /** The parameters, to be passed on with `tree.ref`. */
  get weights(): Weights {
    return this.state.weights;
  }

  /** One zero array per parameter; the caller disposes them. */
  zeros(): Weights {
    return Object.fromEntries(this.layout.entries.map(({ name, shape }) => [name, this.make.zeros(shape)]));
  }

  /** Overwrites the parameters and zeroes the optimiser. @param flat [layout.total] */
  setParameters(flat: Float32Array): void {
    const weights = this.split(flat);
    tree.dispose(this.state);
    this.state = { weights, first: this.zeros(), second: this.zeros() };
    this.step = 0;
  }

  /** @returns [layout.total], padding zero */
  parameters(): Promise<Float32Array> {
    return this.flatten(this.state.weights);
  }

  setOptimiser({ m, v, step }: OptimiserState): void {
    const moments = { first: this.split(m), second: this.split(v) };
    tree.dispose([this.state.first, this.state.second]);
    this.state = { weights: this.state.weights, ...moments };
    this.step = step;
  }

  async optimiser(): Promise<OptimiserState> {
    const { first, second } = this.state;
    return { m: await this.flatten(first), v: await this.flatten(second), step: this.step };
  }

  /** Arrays by name → one flat array. @param arrays kept @returns [layout.total] */
  async flatten(arrays: Weights): Promise<Float32Array> {
    const flat = new Float32Array(this.layout.total);
    for (const { name, offset } of this.layout.entries) flat.set(await read(arrays[name]!.ref), offset);
    return flat;
  }

  /** @param gradients kept @param gradNorm their global norm, for the clip */
  adam(gradients: Weights, gradNorm: number, options: OptimiserOptions): void {
    const { learningRate, beta1, beta2, epsilon, gradClip } = options;
    const scale = gradClip > 0 && gradNorm > gradClip ? gradClip / gradNorm : 1;
    this.step++;
    const rate = learningRate / (1 - beta1 ** this.step);
    const correction2 = 1 / (1 - beta2 ** this.step);
    const scalars = [scale, beta1, 1 - beta1, beta2, 1 - beta2, rate, correction2, epsilon];
    this.state = adamStep(this.state, tree.ref(gradients), this.make.of(Float32Array.from(scalars)));
  }

  dispose(): void {
    tree.dispose(this.state);
  }

  /** @throws `model.parameters` when the length is not the layout's */
  private split(flat: Float32Array): Weights {
    checkParameterCount(flat, this.layout);
    const arrays = this.layout.entries.map(({ name, shape, offset, size }) => {
      return [name, this.make.of(flat.subarray(offset, offset + size), shape)] as const;
    });
    return Object.fromEntries(arrays);
  }
}
