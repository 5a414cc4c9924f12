import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { KernelDescriptor } from '../../src/gpu/kernel';
import { attention, encodeAttention } from '../../src/gpu/kernels/attention';
import {
  attentionKeyValueGradient,
  encodeAttentionKeyValueGradient,
} from '../../src/gpu/kernels/attention-key-value-gradient';
import { attentionQueryGradient, encodeAttentionQueryGradient } from '../../src/gpu/kernels/attention-query-gradient';
import { encodeLayerNorm, layernorm } from '../../src/gpu/kernels/layernorm';
import { encodeLayerNormInputGradient, layernormInputGradient } from '../../src/gpu/kernels/layernorm-input-gradient';
import {
  encodeLayerNormWeightGradient,
  layernormWeightGradient,
} from '../../src/gpu/kernels/layernorm-weight-gradient';
import { encodeLogitsGradient, logitsGradient } from '../../src/gpu/kernels/logits-gradient';
import { reducePartials } from '../../src/gpu/kernels/reduce-partials';
import { rowChunks } from '../../src/gpu/kernels/row-chunks';
import { encodeSoftmaxStatistics, softmaxStatistics } from '../../src/gpu/kernels/softmax-statistics';
import { type SubgroupShape, subgroupShape } from '../../src/gpu/kernels/subgroup';
import { encodeValueHead, valueHead } from '../../src/gpu/kernels/value-head';
import { encodeValueHeadInputGradient, valueHeadInputGradient } from '../../src/gpu/kernels/value-head-input-gradient';
import {
  encodeValueHeadWeightGradient,
  valueHeadWeightGradient,
} from '../../src/gpu/kernels/value-head-weight-gradient';
import { difference } from '../oracle/close';
import { attentionStep, columnSums, layerNormStep, matmul, softmaxStep } from '../oracle/kernels';
import { integers, KernelBench, normals } from './kernel-bench';
import { otherSubgroups } from './matmul-variants';
import { expectClose, testContext } from './transformer-support';

let bench: KernelBench;
beforeAll(async () => {
  bench = new KernelBench(await testContext());
});
afterEach(() => bench.dispose());
afterAll(() => bench.context.dispose());

// Sizes: 1, workgroup (64) ± 1, primes, more than one chunk of rows (256).
const rowCounts = [1, 63, 64, 65, 257];

describe.each(rowCounts)('layer norm, %i rows', (rows) => {
  const d = 12;
  const x = normals(1, rows * d, 2);
  const weight = normals(2, d);
  const bias = normals(3, d);
  const dy = normals(4, rows * d);
  const oracle = layerNormStep(x, weight, bias, dy, rows, d);
  // A row is divided by its standard deviation (about 2, seldom below 0.7): a dozen roundings of 6e-8 at values below 10.
  const close = { absolute: 1e-5 };

  it('forward, input gradient (written and added) and weight gradient', async () => {
    const forward = await bench.compile(layernorm);
    const input = await bench.compile(layernormInputGradient);
    const partial = await bench.compile(layernormWeightGradient);
    const reduce = await bench.compile(reducePartials);
    const held = normals(5, rows * d);
    const y = bench.output(rows * d);
    const stats = bench.output(rows * 2);
    const dx = bench.output(rows * d);
    const added = bench.output(rows * d, held);
    const gradient = bench.output(64 + d, new Float32Array(64 + d));
    const floats = rowChunks(rows).chunks * 2 * d;
    const partials = bench.output(floats);
    const [xs, ws, dys] = [bench.input(x), bench.input(weight), bench.input(dy)];
    bench.run((recorder) => {
      const norm = { rows, dModel: d, epsilon: 1e-5 };
      encodeLayerNorm(recorder, forward, { x: xs, weight: ws, bias: bench.input(bias), y, stats }, norm);
      const slices = { x: xs, stats, weight: ws, dy: dys };
      encodeLayerNormInputGradient(recorder, input, { ...slices, dx }, { rows, dModel: d, accumulate: false });
      encodeLayerNormInputGradient(recorder, input, { ...slices, dx: added }, { rows, dModel: d, accumulate: true });
      const target = { slice: gradient, biasAt: 64 };
      encodeLayerNormWeightGradient(recorder, { partial, reduce }, { ...slices, partials, gradient: target }, norm);
    });
    const read = await bench.read(
      ...[y, dx, added].map((slice) => ({ slice, count: rows * d })),
      { slice: stats, count: rows * 2 },
      { slice: gradient, count: 64 + d },
      { slice: partials, count: floats },
    );
    expectClose('y', read[0]!, oracle.y, close);
    expectClose('dx', read[1]!, oracle.dx, close);
    expectClose(
      'dx added',
      read[2]!,
      oracle.dx.map((v, i) => v + held[i]!),
      close,
    );
    expectClose('stats', read[3]!, oracle.stats, close);
    // 257 terms: see sumTolerance in kernels-matmul.test.ts.
    expectClose('dweight', read[4]!.subarray(0, d), oracle.dweight, { absolute: 1e-4 });
    expectClose('dbias', read[4]!.subarray(64), oracle.dbias, { absolute: 1e-4 });
  });
});

const attentionVariants = ['lane', 'subgroup', 'other subgroups'] as const;
type Variant = (typeof attentionVariants)[number];

/** Every adapter of the tests has subgroups: their absence is a failure. */
function subgroupOf(variant: Variant): SubgroupShape | undefined {
  if (variant === 'lane') return undefined;
  if (variant === 'other subgroups') return otherSubgroups;
  const shape = subgroupShape(bench.context.adapter);
  if (!shape) throw new Error(`${bench.context.adapter.description} has no subgroups`);
  return shape;
}

/** Runs forward and backward attention over rows of the given lengths. */
async function runAttention(
  variant: Variant,
  lengths: readonly number[],
  heads: number,
  d: number,
  forwardDescriptor: KernelDescriptor = attention(d / heads, subgroupOf(variant)),
) {
  const tokens = lengths.reduce((a, b) => a + b, 0);
  const qkv = normals(1, tokens * 3 * d);
  const dout = normals(2, tokens * d);
  const records = new Uint32Array(tokens * 4);
  let at = 0;
  for (const length of lengths) {
    for (let i = 0; i < length; i++) records.set([0, 0, i, at + length], 4 * (at + i));
    at += length;
  }
  const forward = await bench.compile(forwardDescriptor);
  const query = await bench.compile(attentionQueryGradient(d / heads, subgroupOf(variant)));
  const keyValue = await bench.compile(attentionKeyValueGradient(d / heads, subgroupOf(variant)));
  const slices = {
    records: bench.input(records),
    qkv: bench.input(qkv),
    dout: bench.input(dout),
    out: bench.output(tokens * d),
    lse: bench.output(tokens * heads),
    dqkv: bench.output(tokens * 3 * d),
    delta: bench.output(tokens * heads),
  };
  const sizes = { tokens, heads, dModel: d };
  bench.run((recorder) => {
    encodeAttention(recorder, forward, slices, sizes);
    encodeAttentionQueryGradient(recorder, query, slices, sizes);
    encodeAttentionKeyValueGradient(recorder, keyValue, slices, sizes);
  });
  const [out, lse, dqkv] = await bench.read(
    { slice: slices.out, count: tokens * d },
    { slice: slices.lse, count: tokens * heads },
    { slice: slices.dqkv, count: tokens * 3 * d },
    { slice: slices.delta, count: tokens * heads },
  );
  return { out: out!, lse: lse!, dqkv: dqkv!, oracle: attentionStep(qkv, dout, lengths, heads, d) };
}

describe.each([
  [[1], 1, 4],
  [[63, 1], 2, 8],
  [[1, 64, 2], 1, 8],
  [[65], 1, 4],
  [[5, 3, 37, 23], 2, 32],
] as [number[], number, number][])('attention, rows of %j, %i heads, d %i', (lengths, heads, d) => {
  it.each(attentionVariants)('forward and gradients, %s', async (variant) => {
    const { out, lse, dqkv, oracle } = await runAttention(variant, lengths, heads, d);
    // Scores up to about 8: exp has a relative error of about 1e-6 there; averages of values of size 3.
    expectClose('out', out, oracle.out, { absolute: 1e-5 });
    expectClose('lse', lse, oracle.lse, { absolute: 1e-5 });
    // Sums over up to 65 queries of products of such averages.
    expectClose('dqkv', dqkv, oracle.dqkv, { absolute: 5e-5 });
  });
});

describe('attention oracle', () => {
  const width = 4;
  it.each([
    ['lane', 'the 1/sqrt(width) scale is dropped', '* params.scale', ''],
    ['lane', 'the last key is masked', 'key <= t', 'key < t'],
    ['lane', 'rows are not separated', 't - records[t].z', '0u'],
    ['subgroup', 'the last key is masked', 'block + i <= t', 'block + i < t'],
    ['subgroup', 'rows are not separated', 'block + i >= first && ', ''],
    ['subgroup', 'sums are not rescaled', 'sum[c] * correction', 'sum[c]'],
  ] as const)('notices that (%s) %s', async (variant, _, from, to) => {
    const whole = attention(width, subgroupOf(variant));
    const broken = { ...whole, code: whole.code.replace(from, to) };
    expect(broken.code).not.toBe(whole.code);
    const { out, oracle } = await runAttention(variant, [5, 7], 2, 8, broken);
    expect(difference(out, oracle.out, { absolute: 1e-5 })).not.toBeNull();
  });
});

it.each(attentionVariants)(
  '%s: a row of attention does not depend on the rows around it, bit for bit',
  async (variant) => {
    const d = 8;
    const kernel = await bench.compile(attention(4, subgroupOf(variant)));
    const qkv = normals(3, 30 * 3 * d);
    const run = async (first: number) => {
      const records = new Uint32Array(30 * 4);
      for (let t = 0; t < 30; t++) records[4 * t + 2] = t < first ? t : t - first;
      const out = bench.output(30 * d);
      // The last ten tokens are one row in both packings: their keys are the ten tokens from 20 on.
      for (let t = 20; t < 30; t++) records[4 * t + 2] = t - 20;
      bench.run((recorder) =>
        encodeAttention(
          recorder,
          kernel,
          { records: bench.input(records), qkv: bench.input(qkv), out, lse: bench.output(60) },
          { tokens: 30, heads: 2, dModel: d },
        ),
      );
      return (await bench.read({ slice: out, count: 30 * d }))[0]!.slice(20 * d);
    };
    expect(await run(3)).toEqual(await run(17));
  },
);

describe.each(rowCounts)('softmax statistics and logits gradient, %i rows', (rows) => {
  const [vocabulary, first] = [20, 3];
  // Scaled by 4, so that some distributions are peaked and some probabilities vanish.
  const logits = normals(1, rows * vocabulary, 4);
  const targets = integers(2, rows, vocabulary);
  const gradLogp = normals(3, rows);
  const gradEntropy = normals(4, rows);
  const oracle = softmaxStep(logits, targets, gradLogp, gradEntropy, vocabulary);
  /** Arrays of the step start with `first` entries of other tokens. */
  const shifted = (values: ArrayLike<number>) => Float32Array.from([...Array(first).fill(0), ...Array.from(values)]);

  it('log-prob, entropy, log-sum-exp and gradient', async () => {
    const statistics = await bench.compile(softmaxStatistics);
    const gradient = await bench.compile(logitsGradient);
    const inPlace = bench.output(rows * vocabulary, logits);
    const held = new Float32Array(first).fill(7);
    const logp = bench.output(first + rows, held);
    const entropy = bench.output(first + rows, held);
    const lse = bench.output(rows);
    const targetIds = bench.input(Uint32Array.from([...Array(first).fill(0), ...targets]));
    bench.run((recorder) => {
      const range = { first, count: rows };
      const slices = { logits: inPlace, targets: targetIds, logp, entropy, lse };
      encodeSoftmaxStatistics(recorder, statistics, slices, range, vocabulary);
      encodeLogitsGradient(
        recorder,
        gradient,
        { ...slices, gradLogp: bench.input(shifted(gradLogp)), gradEntropy: bench.input(shifted(gradEntropy)) },
        range,
        vocabulary,
      );
    });
    const read = await bench.read(
      { slice: logp, count: first + rows },
      { slice: entropy, count: first + rows },
      { slice: lse, count: rows },
      { slice: inPlace, count: rows * vocabulary },
    );
    expect([...read[0]!.subarray(0, first), ...read[1]!.subarray(0, first)]).toEqual(Array(2 * first).fill(7));
    // Log-probs down to −25: 6e-8 relative of the logits, and exp of differences.
    expectClose('logp', read[0]!.subarray(first), oracle.logp, { absolute: 1e-5 });
    expectClose('entropy', read[1]!.subarray(first), oracle.entropy, { absolute: 1e-5 });
    expectClose('lse', read[2]!, oracle.lse, { absolute: 1e-5 });
    expectClose('dlogits', read[3]!, oracle.dlogits, { absolute: 2e-5 });
  });
});

it('softmax statistics stay finite for logits of ±80, far beyond exp in float32', async () => {
  const kernel = await bench.compile(softmaxStatistics);
  const logits = Float32Array.from([80, -80, 79, 0, -80, -80, -80, -79]);
  const [logp, entropy, lse] = [bench.output(2), bench.output(2), bench.output(2)];
  bench.run((recorder) =>
    encodeSoftmaxStatistics(
      recorder,
      kernel,
      { logits: bench.input(logits), targets: bench.input(Uint32Array.from([1, 3])), logp, entropy, lse },
      { first: 0, count: 2 },
      4,
    ),
  );
  const read = await bench.read({ slice: logp, count: 2 }, { slice: entropy, count: 2 }, { slice: lse, count: 2 });
  const oracle = softmaxStep(logits, [1, 3], [0, 0], [0, 0], 4);
  // 160 has a float32 spacing of 1.5e-5.
  expectClose('logp', read[0]!, oracle.logp, { absolute: 2e-5 });
  expectClose('entropy', read[1]!, oracle.entropy, { absolute: 1e-5 });
});

describe.each(rowCounts)('value head, %i rows', (rows) => {
  const [d, first] = [8, 2];
  it('forward, input gradient and weight gradient', async () => {
    const h = normals(1, rows * d);
    const weight = normals(2, d);
    const grad = normals(3, first + rows);
    const held = normals(4, rows * d);
    const forward = await bench.compile(valueHead);
    const input = await bench.compile(valueHeadInputGradient);
    const partial = await bench.compile(valueHeadWeightGradient);
    const reduce = await bench.compile(reducePartials);
    const values = bench.output(first + rows, new Float32Array(first));
    const dh = bench.output(rows * d);
    const added = bench.output(rows * d, held);
    const gradient = bench.output(65, new Float32Array(65));
    const floats = rowChunks(rows).chunks * (d + 1);
    const partials = bench.output(floats);
    const [hs, ws, gradValues] = [bench.input(h), bench.input(weight), bench.input(grad)];
    const range = { first, count: rows };
    bench.run((recorder) => {
      const bias = bench.input(Float32Array.of(0.5));
      encodeValueHead(recorder, forward, { h: hs, weight: ws, bias, values }, range, d);
      encodeValueHeadInputGradient(recorder, input, { gradValues, weight: ws, dh }, range, {
        dModel: d,
        accumulate: false,
      });
      encodeValueHeadInputGradient(recorder, input, { gradValues, weight: ws, dh: added }, range, {
        dModel: d,
        accumulate: true,
      });
      const target = { slice: gradient, biasAt: 64 };
      encodeValueHeadWeightGradient(
        recorder,
        { partial, reduce },
        { h: hs, gradValues, partials, gradient: target },
        range,
        d,
      );
    });
    const read = await bench.read(
      { slice: values, count: first + rows },
      { slice: dh, count: rows * d },
      { slice: added, count: rows * d },
      { slice: gradient, count: 65 },
      { slice: partials, count: floats },
    );
    const own = grad.subarray(first);
    expectClose('values', read[0]!.subarray(first), matmul(h, weight, rows, d, 1, [0.5]), { absolute: 1e-5 });
    const expected = matmul(own, weight, rows, 1, d);
    expectClose('dh', read[1]!, expected, { absolute: 1e-6 }); // one product
    expectClose(
      'dh added',
      read[2]!,
      expected.map((v, i) => v + held[i]!),
      { absolute: 2e-6 },
    );
    expectClose('dweight', read[3]!.subarray(0, d), matmul(own, h, 1, rows, d), { absolute: 1e-4 });
    expectClose('dbias', read[3]!.subarray(64), columnSums(own, rows, 1), { absolute: 1e-4 });
  });
});
