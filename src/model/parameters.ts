/**
 * Names, shapes and offsets of all parameters of one model, in one flat float32 array. Every engine, the checkpoint
 * format and the oracles use this table; nothing else knows an offset.
 *
 * Model (pre-LN transformer, nanoGPT-like, ReLU MLP, untied head):
 *   x   = wte[token] + wpe[position] (+ wte_prev[previous token in the row; token 0 at position 0])
 *   x  += attn_proj(causal_attention(ln_1(x)))        heads of width dModel / heads, scale 1/sqrt(width)
 *   x  += mlp_proj(relu(mlp_fc(ln_2(x))))
 *   h   = ln_f(x);  logits = h · lm_head + bias;  value = h · value_head + bias
 * Weight matrices are stored [in, out], row-major: y = x · W + b. LayerNorm epsilon is 1e-5.
 */
import { LabError } from '../core/errors';

/** Architecture of a policy or critic. */
export interface ModelShape {
  readonly vocabulary: number;
  readonly dModel: number;
  readonly layers: number;
  readonly heads: number;
  /** Width of the MLP's hidden layer. */
  readonly mlp: number;
  /** Number of learned positions: twice the window, so that a 2× window can be evaluated. */
  readonly positions: number;
  /** Whether the embedding of the previous token is added to the input. */
  readonly previousToken: boolean;
}

export const LAYER_NORM_EPSILON = 1e-5;

/** One parameter tensor inside the flat array. */
export interface ParameterEntry {
  readonly name: string;
  /** Row-major shape; matrices are [in, out]. */
  readonly shape: readonly number[];
  /** Offset in floats; a multiple of `PARAMETER_ALIGNMENT`. */
  readonly offset: number;
  /** Number of floats. */
  readonly size: number;
}

/** The flat layout of one model. */
export interface ParameterLayout {
  readonly entries: readonly ParameterEntry[];
  readonly byName: ReadonlyMap<string, ParameterEntry>;
  /** Total number of floats, padding included. Padding floats are zero and get zero gradient. */
  readonly total: number;
  /** Number of real parameters, padding excluded. */
  readonly count: number;
}

/** Floats: 256 bytes, WebGPU's default storage- and uniform-buffer offset alignment, so any tensor can be bound. */
export const PARAMETER_ALIGNMENT = 64;

/** Name of a tensor of block `layer`, e.g. `h.0.attn.qkv.weight`. */
export function blockParameter(layer: number, name: BlockParameter): string {
  return `h.${layer}.${name}`;
}
export type BlockParameter =
  `${'ln_1' | 'ln_2' | 'attn.qkv' | 'attn.proj' | 'mlp.fc' | 'mlp.proj'}.${'weight' | 'bias'}`;

/** Builds the layout of a shape. `attn.qkv` packs query, key, value along the output axis, each head-major. */
export function parameterLayout(shape: ModelShape): ParameterLayout {
  const { vocabulary, dModel: d, layers, mlp, positions, previousToken } = shape;
  const entries: ParameterEntry[] = [];
  let total = 0;
  let count = 0;
  const add = (name: string, ...dims: number[]) => {
    const size = dims.reduce((a, b) => a * b, 1);
    entries.push({ name, shape: dims, offset: total, size });
    count += size;
    total += Math.ceil(size / PARAMETER_ALIGNMENT) * PARAMETER_ALIGNMENT;
  };
  add('wte', vocabulary, d);
  if (previousToken) add('wte_prev', vocabulary, d);
  add('wpe', positions, d);
  for (let l = 0; l < layers; l++) {
    add(blockParameter(l, 'ln_1.weight'), d);
    add(blockParameter(l, 'ln_1.bias'), d);
    add(blockParameter(l, 'attn.qkv.weight'), d, 3 * d);
    add(blockParameter(l, 'attn.qkv.bias'), 3 * d);
    add(blockParameter(l, 'attn.proj.weight'), d, d);
    add(blockParameter(l, 'attn.proj.bias'), d);
    add(blockParameter(l, 'ln_2.weight'), d);
    add(blockParameter(l, 'ln_2.bias'), d);
    add(blockParameter(l, 'mlp.fc.weight'), d, mlp);
    add(blockParameter(l, 'mlp.fc.bias'), mlp);
    add(blockParameter(l, 'mlp.proj.weight'), mlp, d);
    add(blockParameter(l, 'mlp.proj.bias'), d);
  }
  add('ln_f.weight', d);
  add('ln_f.bias', d);
  add('lm_head.weight', d, vocabulary);
  add('lm_head.bias', vocabulary);
  add('value_head.weight', d, 1);
  add('value_head.bias', 1);
  return { entries, byName: new Map(entries.map((e) => [e.name, e])), total, count };
}

/** The view of one tensor inside a flat parameter (or gradient, or moment) array. */
export function tensorOf(flat: Float32Array, layout: ParameterLayout, name: string): Float32Array {
  const entry = layout.byName.get(name);
  if (!entry) throw new RangeError(`no parameter named ${name}`);
  return flat.subarray(entry.offset, entry.offset + entry.size);
}

/**
 * Checks the numbers of one tensor, or of a flat array of `parameterLayout` and its like.
 * @param where the file or run they are from
 * @throws `model.non-finite` naming the tensor and the index of the first NaN or infinity
 */
export function requireFinite(data: Float32Array, { name, shape }: NamedShape, where: string): void {
  const at = data.findIndex((x) => !Number.isFinite(x));
  if (at < 0) return;
  // Row-major: the last axis runs fastest.
  let rest = at;
  const index = [...shape].reverse().map((n) => {
    const i = rest % n;
    rest = Math.floor(rest / n);
    return i;
  });
  throw new LabError({
    code: 'model.non-finite',
    what: 'A parameter is not a finite number',
    where: `${where}, ${name}[${index.reverse().join(', ')}]`,
    expected: 'finite numbers only',
    got: String(data[at]),
    fix: 'Use an earlier or another checkpoint, or train again with a lower learningRate or gradClip.',
  });
}
type NamedShape = Pick<ParameterEntry, 'name' | 'shape'>;

/** `requireFinite` of every tensor of a flat array. @param prefix in front of the tensors' names */
export function requireFiniteParameters(flat: Float32Array, layout: ParameterLayout, prefix: string, where: string) {
  for (const { name, shape, offset, size } of layout.entries)
    requireFinite(flat.subarray(offset, offset + size), { name: prefix + name, shape }, where);
}

/** @throws `model.parameters` when a flat array does not have the layout's length */
export function checkParameterCount(flat: Float32Array, { total }: ParameterLayout): void {
  if (flat.length === total) return;
  throw new LabError({
    code: 'model.parameters',
    what: 'The parameters do not belong to this architecture',
    expected: `${total} numbers`,
    got: `${flat.length}`,
    fix: 'Load the checkpoint with the configuration that made it.',
  });
}
