/**
 * Initial parameters of a policy. Pure: a function of shape, seed and options. (JavaScript engines may differ in the last
 * bit of Math.log and Math.cos, so a run that must match across engines starts from a checkpoint.)
 */
import { RandomStream } from '../core/rng';
import { blockParameter, type ModelShape, parameterLayout, tensorOf } from './parameters';

/**
 * 0: plain. 1: the previous-token embedding starts as a copy of the token embedding and keys as a copy of queries, so
 * that heads attend to what followed an equal token. 2: also the output head reads the token embedding and the attention
 * output passes values through, so that an attended token is copied.
 */
export type CopyInit = 0 | 1 | 2;

/**
 * Normal weights of the scales that a measured prototype used; biases and the value head are zero, layer norms one. A zero value head moves the actor by nothing at zero reward (docs/algorithm.md section 4).
 * @param seed unsigned 32-bit
 * @returns [parameterLayout(shape).total]
 */
export function initialParameters(
  shape: ModelShape,
  seed: number,
  options: { readonly copyInit: CopyInit },
): Float32Array<ArrayBuffer> {
  const layout = parameterLayout(shape);
  const { dModel: d, mlp, layers, vocabulary } = shape;
  const flat = new Float32Array(layout.total);
  const random = new RandomStream(seed, 'init', 0);
  const fill = (name: string, deviation: number) => {
    const values = tensorOf(flat, layout, name);
    for (let i = 0; i < values.length; i++) values[i] = deviation * random.normal();
  };
  const depth = 1 / Math.sqrt(2 * layers);
  fill('wte', 0.1);
  if (shape.previousToken) fill('wte_prev', 0.1);
  fill('wpe', 0.05);
  for (let l = 0; l < layers; l++) {
    tensorOf(flat, layout, blockParameter(l, 'ln_1.weight')).fill(1);
    tensorOf(flat, layout, blockParameter(l, 'ln_2.weight')).fill(1);
    fill(blockParameter(l, 'attn.qkv.weight'), 1 / Math.sqrt(d));
    fill(blockParameter(l, 'attn.proj.weight'), depth / Math.sqrt(d));
    fill(blockParameter(l, 'mlp.fc.weight'), Math.sqrt(2 / d) * 0.7);
    fill(blockParameter(l, 'mlp.proj.weight'), depth / Math.sqrt(mlp));
  }
  tensorOf(flat, layout, 'ln_f.weight').fill(1);
  fill('lm_head.weight', 0.3 / Math.sqrt(d));

  const wte = tensorOf(flat, layout, 'wte');
  if (options.copyInit >= 1) {
    if (shape.previousToken) tensorOf(flat, layout, 'wte_prev').set(wte);
    for (let l = 0; l < layers; l++) {
      const qkv = tensorOf(flat, layout, blockParameter(l, 'attn.qkv.weight'));
      for (let k = 0; k < d; k++) qkv.copyWithin(k * 3 * d + d, k * 3 * d, k * 3 * d + d);
    }
  }
  if (options.copyInit >= 2) {
    const head = tensorOf(flat, layout, 'lm_head.weight');
    for (let v = 0; v < vocabulary; v++)
      for (let c = 0; c < d; c++) head[c * vocabulary + v] = (wte[v * d + c]! * 3) / Math.sqrt(d);
    for (let l = 0; l < layers; l++) {
      const qkv = tensorOf(flat, layout, blockParameter(l, 'attn.qkv.weight'));
      const proj = tensorOf(flat, layout, blockParameter(l, 'attn.proj.weight'));
      for (let k = 0; k < d; k++) for (let c = 0; c < d; c++) proj[c * d + k] = qkv[k * 3 * d + 2 * d + c]! * 0.7;
    }
  }
  return flat;
}
