/**
 * Float64 reference of decoding: the whole sequence is recomputed, there is no cache, no batching, no online softmax.
 * Imports no project mathematics; only the model's shape type. The parameter table is written out again here.
 */
import type { ModelShape } from '../../src/model/parameters';

type Tensors = Map<string, Float64Array>;

/** Reads a flat parameter array by names; each tensor starts at a multiple of 64 floats. */
export function oracleTensors(shape: ModelShape, flat: ArrayLike<number>): Tensors {
  const { vocabulary: v, dModel: d, mlp, positions } = shape;
  const sizes: [string, number][] = [['wte', v * d]];
  if (shape.previousToken) sizes.push(['wte_prev', v * d]);
  sizes.push(['wpe', positions * d]);
  for (let l = 0; l < shape.layers; l++)
    sizes.push(
      [`${l}.ln1w`, d],
      [`${l}.ln1b`, d],
      [`${l}.qkvw`, 3 * d * d],
      [`${l}.qkvb`, 3 * d],
      [`${l}.pw`, d * d],
      [`${l}.pb`, d],
      [`${l}.ln2w`, d],
      [`${l}.ln2b`, d],
      [`${l}.fw`, d * mlp],
      [`${l}.fb`, mlp],
      [`${l}.mw`, mlp * d],
      [`${l}.mb`, d],
    );
  sizes.push(['lnfw', d], ['lnfb', d], ['hw', d * v], ['hb', v], ['vw', d], ['vb', 1]);
  const tensors: Tensors = new Map();
  let at = 0;
  for (const [name, size] of sizes) {
    tensors.set(
      name,
      Float64Array.from({ length: size }, (_, i) => flat[at + i]!),
    );
    at += Math.ceil(size / 64) * 64;
  }
  return tensors;
}

function layerNorm(x: Float64Array, weight: Float64Array, bias: Float64Array): Float64Array {
  const mean = x.reduce((a, b) => a + b, 0) / x.length;
  const variance = x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length;
  return x.map((v, i) => ((v - mean) / Math.sqrt(variance + 1e-5)) * weight[i]! + bias[i]!);
}

function linear(x: Float64Array, weight: Float64Array, bias: Float64Array): Float64Array {
  const out = bias.slice();
  for (let i = 0; i < x.length; i++)
    for (let j = 0; j < out.length; j++) out[j] = out[j]! + x[i]! * weight[i * out.length + j]!;
  return out;
}

/** Distribution of the next token and value after every position of `ids`. */
export function oracleForward(
  shape: ModelShape,
  p: Tensors,
  ids: readonly number[],
): { logp: Float64Array; value: number }[] {
  const { dModel: d, heads, layers } = shape;
  const width = d / heads;
  const t = (name: string) => p.get(name)!;
  let xs = ids.map((id, position) =>
    Float64Array.from({ length: d }, (_, c) => {
      const previous = position === 0 ? 0 : ids[position - 1]!;
      const extra = shape.previousToken ? t('wte_prev')[previous * d + c]! : 0;
      return t('wte')[id * d + c]! + t('wpe')[position * d + c]! + extra;
    }),
  );
  for (let l = 0; l < layers; l++) {
    const qkv = xs.map((x) => linear(layerNorm(x, t(`${l}.ln1w`), t(`${l}.ln1b`)), t(`${l}.qkvw`), t(`${l}.qkvb`)));
    xs = xs.map((x, i) => {
      const mixed = new Float64Array(d);
      for (let h = 0; h < heads; h++) {
        const scores: number[] = [];
        for (let s = 0; s <= i; s++) {
          let dot = 0;
          for (let c = 0; c < width; c++) dot += qkv[i]![h * width + c]! * qkv[s]![d + h * width + c]!;
          scores.push(dot / Math.sqrt(width));
        }
        const top = Math.max(...scores);
        const weights = scores.map((s) => Math.exp(s - top));
        const total = weights.reduce((a, b) => a + b, 0);
        for (let c = 0; c < width; c++)
          mixed[h * width + c] = weights.reduce((a, w, s) => a + (w / total) * qkv[s]![2 * d + h * width + c]!, 0);
      }
      const y = linear(mixed, t(`${l}.pw`), t(`${l}.pb`));
      return x.map((v, c) => v + y[c]!);
    });
    xs = xs.map((x) => {
      const hidden = linear(layerNorm(x, t(`${l}.ln2w`), t(`${l}.ln2b`)), t(`${l}.fw`), t(`${l}.fb`));
      const y = linear(
        hidden.map((v) => Math.max(v, 0)),
        t(`${l}.mw`),
        t(`${l}.mb`),
      );
      return x.map((v, c) => v + y[c]!);
    });
  }
  return xs.map((x) => {
    const h = layerNorm(x, t('lnfw'), t('lnfb'));
    const logits = linear(h, t('hw'), t('hb'));
    const top = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    const lse = top + Math.log(logits.reduce((a, b) => a + Math.exp(b - top), 0));
    return { logp: logits.map((v) => v - lse), value: linear(h, t('vw'), t('vb'))[0]! };
  });
}

/** Threefry-2x32-20 in 64-bit integers, after the reference code of Salmon et al.; first word / 2^8 / 2^24. */
export function oracleUniform(key: readonly [number, number], stream: number, index: number): number {
  const mask = 0xffffffffn;
  const k = [BigInt(key[0]), BigInt(key[1])];
  k.push(0x1bd11bdan ^ k[0]! ^ k[1]!);
  let x0 = (BigInt(stream) + k[0]!) & mask;
  let x1 = (BigInt(index) + k[1]!) & mask;
  const rotations = [13n, 15n, 26n, 6n, 17n, 29n, 16n, 24n];
  for (let round = 0; round < 20; round++) {
    const r = rotations[round % 8]!;
    x0 = (x0 + x1) & mask;
    x1 = (((x1 << r) | (x1 >> (32n - r))) & mask) ^ x0;
    if (round % 4 === 3) {
      const s = (round + 1) / 4;
      x0 = (x0 + k[s % 3]!) & mask;
      x1 = (x1 + k[(s + 1) % 3]! + BigInt(s)) & mask;
    }
  }
  return Number(x0 >> 8n) / 2 ** 24;
}

/** The token that inverse-CDF sampling picks for `u`, and the distance from `u` to the interval of another token. */
export function oracleDraw(logp: Float64Array, u: number): { id: number; below: Float64Array } {
  const below = new Float64Array(logp.length + 1);
  logp.forEach((v, i) => {
    below[i + 1] = below[i]! + Math.exp(v);
  });
  let id = logp.length - 1;
  for (let i = 0; i < logp.length; i++)
    if (below[i + 1]! > u) {
      id = i;
      break;
    }
  return { id, below };
}
