import { expect, it } from 'vitest';
import { initialParameters } from '../../src/model/initialise';
import { type ModelShape, parameterLayout, tensorOf } from '../../src/model/parameters';

const shape: ModelShape = {
  vocabulary: 64,
  dModel: 32,
  layers: 2,
  heads: 4,
  mlp: 64,
  positions: 48,
  previousToken: true,
};
const layout = parameterLayout(shape);
const d = shape.dModel;
const tensors = (copyInit: 0 | 1 | 2, seed = 1) => {
  const flat = initialParameters(shape, seed, { copyInit });
  return (name: string) => tensorOf(flat, layout, name);
};
const deviation = (x: Float32Array) => Math.sqrt(x.reduce((s, v) => s + v * v, 0) / x.length);

it('has the scales of the measured prototype', () => {
  const get = tensors(0);
  const expected: Record<string, number> = {
    wte: 0.1,
    wte_prev: 0.1,
    wpe: 0.05,
    'h.1.attn.qkv.weight': 1 / Math.sqrt(32),
    'h.1.attn.proj.weight': 1 / Math.sqrt(32) / 2,
    'h.0.mlp.fc.weight': Math.sqrt(2 / 32) * 0.7,
    'h.0.mlp.proj.weight': 1 / Math.sqrt(64) / 2,
    'lm_head.weight': 0.3 / Math.sqrt(32),
  };
  // At least 1,024 normals: the relative standard error of a deviation is 1/√(2n) ≤ 2.2 %; 8 % is beyond 3.6 of them.
  for (const [name, wanted] of Object.entries(expected))
    expect(Math.abs(deviation(get(name)) / wanted - 1), name).toBeLessThan(0.08);
});

it('leaves biases and the value head zero, layer norms one, padding zero', () => {
  const flat = initialParameters(shape, 1, { copyInit: 2 });
  const padding = new Set(flat.keys());
  for (const { name, offset, size } of layout.entries) {
    for (let i = offset; i < offset + size; i++) padding.delete(i);
    const values = [...flat.subarray(offset, offset + size)];
    if (/(^|\.)ln_\w+\.weight$/.test(name))
      expect(
        values.every((v) => v === 1),
        name,
      ).toBe(true);
    else if (name.endsWith('.bias') || name.startsWith('value_head'))
      expect(
        values.every((v) => v === 0),
        name,
      ).toBe(true);
    else
      expect(
        values.some((v) => v !== 0),
        name,
      ).toBe(true);
  }
  expect([...padding].every((i) => flat[i] === 0)).toBe(true);
});

it('copyInit 1 copies embeddings and queries; 2 also ties the head and passes values through', () => {
  for (const level of [0, 1, 2] as const) {
    const get = tensors(level);
    const [wte, previous, qkv] = [get('wte'), get('wte_prev'), get('h.1.attn.qkv.weight')];
    const [head, proj] = [get('lm_head.weight'), get('h.1.attn.proj.weight')];
    const [row, column] = [5, 7];
    expect(previous[row * d + column] === wte[row * d + column]).toBe(level >= 1);
    expect(qkv[row * 3 * d + d + column] === qkv[row * 3 * d + column]).toBe(level >= 1);
    expect(head[column * 64 + row] === Math.fround((wte[row * d + column]! * 3) / Math.sqrt(d))).toBe(level >= 2);
    expect(proj[column * d + row] === Math.fround(qkv[row * 3 * d + 2 * d + column]! * 0.7)).toBe(level >= 2);
  }
});

it('is a function of the seed', () => {
  expect(tensors(0)('wte')).toEqual(tensors(0)('wte'));
  expect(tensors(0, 2)('wte')).not.toEqual(tensors(0)('wte'));
});
