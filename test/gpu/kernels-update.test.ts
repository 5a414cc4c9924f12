import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { adam, encodeAdam } from '../../src/gpu/kernels/adam';
import { decodeGradientNorm, encodeGradientNorm, gradientNorm } from '../../src/gpu/kernels/gradient-norm';
import { adamStep } from '../oracle/transformer';
import { KernelBench, normals } from './kernel-bench';
import { expectClose, testContext } from './transformer-support';

let bench: KernelBench;
beforeAll(async () => {
  bench = new KernelBench(await testContext());
});
afterEach(() => bench.dispose());
afterAll(() => bench.context.dispose());

/** Norm and Adam over `floats` numbers; `poison` goes into the gradient, `lossWord` into the loss record. */
async function runAdam(floats: number, options: { poison?: number; lossBad?: number; gradClip: number; step: number }) {
  const gradient = normals(1, floats);
  if (options.poison !== undefined) gradient[floats >> 1] = options.poison;
  const state = { p: normals(2, floats), m: normals(3, floats, 0.1), v: normals(4, floats, 0.1).map((x) => x * x) };
  const norm = await bench.compile(gradientNorm);
  const step = await bench.compile(adam);
  const out = {
    p: bench.output(floats, state.p),
    m: bench.output(floats, state.m),
    v: bench.output(floats, state.v),
  };
  const record = bench.output(4);
  const partials = bench.input(new Float32Array(2048));
  const lossRecord = new Uint32Array(12);
  lossRecord[10] = options.lossBad ?? 0;
  const gradientSlice = bench.input(gradient);
  const optimiser = { learningRate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, gradClip: options.gradClip };
  bench.run((recorder) => {
    encodeGradientNorm(recorder, norm, { gradient: gradientSlice, partials, record }, floats);
    encodeAdam(
      recorder,
      step,
      {
        gradient: gradientSlice,
        normRecord: record,
        lossRecord: bench.input(lossRecord),
        parameters: out.p,
        m: out.m,
        v: out.v,
      },
      floats,
      options.step,
      optimiser,
    );
  });
  const [p, m, v, words] = await bench.read(
    { slice: out.p, count: floats },
    { slice: out.m, count: floats },
    { slice: out.v, count: floats },
    { slice: record, count: 4 },
  );
  const oracle = adamStep(
    { p: [...state.p], m: [...state.m], v: [...state.v], step: options.step - 1 },
    [...gradient],
    optimiser,
  );
  return { p: p!, m: m!, v: v!, state, oracle, record: decodeGradientNorm(words!.buffer as ArrayBuffer) };
}

describe.each([4, 252, 256, 260, 65_540])('gradient norm and Adam, %i floats', (floats) => {
  it.each([
    ['no clip, first step', 0, 1],
    ['clipped, step 7', 1, 7],
    ['clip above the norm', 1e4, 3],
  ])('%s', async (_, gradClip, step) => {
    const { p, m, v, oracle, record } = await runAdam(floats, { gradClip, step });
    expect(record.nonFinite).toBe(false);
    // Fixed-order float32 sums of squares in 1,024 lanes.
    expectClose('norm', [record.gradNorm], [oracle.norm], { absolute: 0, relative: 1e-5 });
    expectClose('m', m, oracle.m, { absolute: 1e-6 });
    expectClose('v', v, oracle.v, { absolute: 1e-6, relative: 1e-5 });
    // A step of 0.01 · m̂/√v̂, with v̂ down to where 1e-6 relative of √v shows: 1e-4 of the step's size.
    expectClose('parameters', p, oracle.p, { absolute: 1e-5, relative: 1e-4 });
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e30])(
    'a gradient holding %d leaves everything as it was',
    async (poison) => {
      const { p, m, v, state, record } = await runAdam(floats, { gradClip: 1, step: 1, poison });
      expect(record.nonFinite).toBe(true);
      expect(p).toEqual(state.p);
      expect(m).toEqual(state.m);
      expect(v).toEqual(state.v);
    },
  );
});

it('a loss that is not finite leaves everything as it was', async () => {
  const { p, state } = await runAdam(256, { gradClip: 1, step: 1, lossBad: 1 });
  expect(p).toEqual(state.p);
});

it('epsilon 0 and zero moments move nothing and make no NaN', async () => {
  const zeros = () => bench.output(64, new Float32Array(64));
  const [parameters, m, v] = [zeros(), zeros(), zeros()];
  const kernel = await bench.compile(adam);
  bench.run((recorder) =>
    encodeAdam(
      recorder,
      kernel,
      {
        gradient: bench.input(new Float32Array(64)),
        normRecord: bench.input(new Uint32Array(4)),
        lossRecord: bench.input(new Uint32Array(12)),
        parameters,
        m,
        v,
      },
      64,
      1,
      { learningRate: 1, beta1: 0.9, beta2: 0.99, epsilon: 0, gradClip: 1 },
    ),
  );
  const [p] = await bench.read({ slice: parameters, count: 64 });
  expect(p).toEqual(new Float32Array(64));
});
