import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GpuContext } from '../../src/gpu/device';
import type { LossOptions, PolicyEngine, UpdateBatch } from '../../src/model/engine';
import { type ModelShape, parameterLayout, tensorOf } from '../../src/model/parameters';
import { createWebGpuEngine, type WebGpuEngineOptions } from '../../src/model/webgpu/engine';
import { difference } from '../oracle/close';
import { adamStep, type OracleLoss, oracleStep } from '../oracle/transformer';
import {
  expectClose,
  fullLoss,
  namedTensors,
  noisyParameters,
  oracleRows,
  quickShape,
  randomBatch,
  testContext,
  tinyShape,
} from './transformer-support';

const optimiser = { learningRate: 2e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, gradClip: 1 };

let context: GpuContext;
const engines: PolicyEngine[] = [];
beforeAll(async () => {
  context = await testContext();
});
afterAll(() => {
  for (const engine of engines) engine.dispose();
  context.dispose();
});

async function engineOf(shape: ModelShape, parameters: Float32Array, options?: WebGpuEngineOptions) {
  const engine = await createWebGpuEngine(context, shape, options);
  engines.push(engine);
  await engine.setParameters('policy', parameters);
  return engine;
}

const largest = (values: Float32Array) => values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);

describe('batching', () => {
  const parameters = noisyParameters(quickShape, 3);
  const batch = randomBatch(quickShape, { seed: 9, rows: 40, maxLength: 60, share: 0.3 });

  it('the gradient does not change with the micro-batch size or the head chunk', async () => {
    const whole = await (await engineOf(quickShape, parameters)).gradient('policy', batch, fullLoss);
    for (const options of [{ microBatchTokens: 64 }, { maxLogitsBytes: 7 * 256 * 4 }]) {
      const cut = await (await engineOf(quickShape, parameters, options)).gradient('policy', batch, fullLoss);
      // Other order of the same float32 additions: 1e-5 of the largest entry.
      expectClose('gradient', cut.gradient, whole.gradient, { absolute: 1e-5 * largest(whole.gradient) });
      expectClose('loss', [cut.stats.loss], [whole.stats.loss], { absolute: 1e-6 });
    }
  });

  it('scores of a row do not depend on the rows around it, bit for bit', async () => {
    const engine = await engineOf(quickShape, parameters, { microBatchTokens: 100 });
    const all = await engine.score('policy', batch);
    const row = 17;
    const start = batch.rowStart[row]!;
    const ids = batch.ids.slice(start, batch.rowStart[row + 1]!);
    const [from, to] = [batch.trainableStart[row]!, batch.trainableStart[row + 1]!];
    const alone = await engine.score('policy', {
      ids,
      rowStart: Uint32Array.of(0, ids.length),
      trainable: batch.trainable.slice(from, to).map((t) => t - start),
      trainableStart: Uint32Array.of(0, to - from),
    });
    expect(alone.logp).toEqual(all.logp.slice(from, to));
    expect(alone.entropy).toEqual(all.entropy.slice(from, to));
    expect(alone.values).toEqual(all.values.slice(from, to));
  });

  it('two runs of five updates are bit-identical', async () => {
    const run = async () => {
      const engine = await engineOf(quickShape, parameters, { microBatchTokens: 300 });
      const stats = [];
      for (let i = 0; i < 5; i++) stats.push(await engine.update('policy', batch, fullLoss, optimiser));
      return { stats, parameters: await engine.getParameters('policy'), state: await engine.getOptimiser('policy') };
    };
    expect(await run()).toEqual(await run());
  });

  it('memory is flat over 50 updates of changing size after the largest', async () => {
    const engine = await engineOf(tinyShape, noisyParameters(tinyShape, 1), { microBatchTokens: 256 });
    const sized = (i: number, rows: number) => randomBatch(tinyShape, { seed: i, rows, maxLength: 20, share: 0.5 });
    const biggest = sized(0, 60);
    await engine.update('policy', biggest, fullLoss, optimiser);
    await engine.score('policy', biggest);
    const before = [engine.deviceBytes(), context.bytes];
    for (let i = 1; i <= 50; i++) await engine.update('policy', sized(i, 1 + (i % 30)), fullLoss, optimiser);
    await engine.score('policy', biggest);
    expect([engine.deviceBytes(), context.bytes]).toEqual(before);
  });

  it('counts every byte and gives all back', async () => {
    const before = context.bytes;
    const engine = await createWebGpuEngine(context, tinyShape);
    await engine.setParameters('policy', noisyParameters(tinyShape, 1));
    await engine.update(
      'policy',
      randomBatch(tinyShape, { seed: 1, rows: 3, maxLength: 9, share: 0.5 }),
      fullLoss,
      optimiser,
    );
    expect(engine.deviceBytes()).toBe(context.bytes - before);
    engine.dispose();
    expect(context.bytes).toBe(before);
  });
});

describe('gradients', () => {
  const parameters = noisyParameters(tinyShape, 21);
  const batch = randomBatch(tinyShape, { seed: 2, rows: 4, maxLength: 12, share: 0.5 });
  const rows = oracleRows(batch);
  const oracleOf = (flat: Float32Array | Float64Array, shape: ModelShape = tinyShape, loss: LossOptions = fullLoss) => {
    const layout = parameterLayout(shape);
    const named = Object.fromEntries(
      layout.entries.map(({ name, offset, size }) => [name, flat.subarray(offset, offset + size)]),
    );
    return oracleStep(shape, named, rows, batch, loss as OracleLoss);
  };

  it('equal central differences of the float64 oracle loss', async () => {
    const { gradient } = await (await engineOf(tinyShape, parameters)).gradient('policy', batch, fullLoss);
    const step = 1e-5;
    for (const { name, offset, size } of parameterLayout(tinyShape).entries) {
      // The entry with the largest gradient and one in the middle.
      const values = gradient.subarray(offset, offset + size);
      const top = values.reduce((best, g, i) => (Math.abs(g) > Math.abs(values[best]!) ? i : best), 0);
      for (const i of [top, size >> 1]) {
        const moved = (by: number) => {
          const flat = Float64Array.from(parameters);
          flat[offset + i]! += by;
          return oracleOf(flat).loss;
        };
        const slope = (moved(step) - moved(-step)) / (2 * step);
        // Central differences: error h² f''' and 1e-16 / h, below 1e-8; the float32 gradient 2e-5 of the tensor's largest.
        expectClose(`${name}[${i}]`, [values[i]!], [slope], { absolute: 1e-7 + 2e-5 * largest(values) });
      }
    }
  });

  it('weights larger than one uniform window (mlp 512)', async () => {
    const shape = { ...tinyShape, dModel: 64, heads: 2, mlp: 512, layers: 1 };
    const wide = noisyParameters(shape, 5);
    const oracle = oracleOf(wide, shape);
    const { gradient } = await (await engineOf(shape, wide)).gradient('policy', batch, fullLoss);
    for (const [name, values] of Object.entries(namedTensors(shape, gradient))) {
      const expected = oracle.gradient[name]!;
      expectClose(name, values, expected, { absolute: 2e-5 * Math.max(...expected.map(Math.abs)) + 1e-8 });
    }
  });

  it('of a separate critic (policyCoef 0): value terms only, nothing in lm_head', async () => {
    const loss = { ...fullLoss, policyCoef: 0, entropyCoef: 0, klCoef: 0, valueCoef: 1 };
    const oracle = oracleOf(parameters, tinyShape, loss);
    const { gradient, stats } = await (await engineOf(tinyShape, parameters)).gradient('policy', batch, loss);
    expectClose('loss', [stats.loss], [oracle.loss], { absolute: 1e-6 });
    for (const [name, values] of Object.entries(namedTensors(tinyShape, gradient))) {
      const expected = oracle.gradient[name]!;
      if (name.startsWith('lm_head')) expect(largest(values)).toBe(0);
      expectClose(name, values, expected, { absolute: 2e-5 * Math.max(...expected.map(Math.abs)) + 1e-8 });
    }
  });

  it('of a policy without a value term leave the value head alone', async () => {
    const loss = { ...fullLoss, valueCoef: 0 };
    const oracle = oracleOf(parameters, tinyShape, loss);
    const { gradient } = await (await engineOf(tinyShape, parameters)).gradient('policy', batch, loss);
    for (const [name, values] of Object.entries(namedTensors(tinyShape, gradient))) {
      const expected = oracle.gradient[name]!;
      if (name.startsWith('value_head')) expect(largest(values)).toBe(0);
      expectClose(name, values, expected, { absolute: 2e-5 * Math.max(...expected.map(Math.abs)) + 1e-8 });
    }
  });

  it('of cloning equal those of PPO at ratio 1 and advantage 1', async () => {
    const engine = await engineOf(tinyShape, parameters);
    const { logp } = await engine.score('policy', batch);
    const ones: UpdateBatch = { ...batch, oldLogp: logp, advantages: new Float32Array(logp.length).fill(1) };
    const plain = { ...fullLoss, valueCoef: 0, entropyCoef: 0, klCoef: 0 };
    const ppo = await engine.gradient('policy', ones, plain);
    const clone = await engine.gradient('policy', ones, { ...plain, objective: 'clone' });
    expectClose('gradient', clone.gradient, ppo.gradient, { absolute: 1e-6 * largest(ppo.gradient) });
    expectClose('loss', [clone.stats.loss], [-logp.reduce((a, b) => a + b, 0) / logp.length], { absolute: 1e-5 });
    // ρ = 1 before the first update: recomputed log-probs are the scored ones, bit for bit.
    expect(ppo.stats.maxRatioError).toBe(0);
  });

  it('are exactly zero for zero advantages with no other term', async () => {
    const zero = { ...batch, advantages: new Float32Array(batch.trainable.length) };
    const plain = { ...fullLoss, valueCoef: 0, entropyCoef: 0, klCoef: 0 };
    const { gradient } = await (await engineOf(tinyShape, parameters)).gradient('policy', zero, plain);
    expect(largest(gradient)).toBe(0);
  });
});

describe('updates', () => {
  const parameters = noisyParameters(tinyShape, 8);
  const batch = randomBatch(tinyShape, { seed: 4, rows: 5, maxLength: 15, share: 0.5 });

  it('three steps equal Adam in float64 on the same gradients', async () => {
    const engine = await engineOf(tinyShape, parameters);
    const { total } = parameterLayout(tinyShape);
    let state = { p: [...parameters], m: Array(total).fill(0), v: Array(total).fill(0), step: 0 };
    for (let i = 0; i < 3; i++) {
      const { gradient } = await engine.gradient('policy', batch, fullLoss);
      const { norm, ...next } = adamStep(state, [...gradient], optimiser);
      const stats = await engine.update('policy', batch, fullLoss, optimiser);
      expectClose('norm', [stats.gradNorm], [norm], { absolute: 0, relative: 1e-5 });
      const moved = await engine.getParameters('policy');
      // A step is at most 2e-3 times √10 or so; 1e-4 of it.
      expectClose(`step ${i}`, moved, next.p, { absolute: 1e-6 });
      state = { ...next, p: [...moved] };
    }
    expect((await engine.getOptimiser('policy')).step).toBe(3);
  });

  it('saved parameters and optimiser continue bit-identically in another engine', async () => {
    const one = await engineOf(tinyShape, parameters);
    await one.update('policy', batch, fullLoss, optimiser);
    const two = await engineOf(tinyShape, await one.getParameters('policy'));
    await two.setOptimiser('policy', await one.getOptimiser('policy'));
    for (const engine of [one, two]) await engine.update('policy', batch, fullLoss, optimiser);
    expect(await two.getParameters('policy')).toEqual(await one.getParameters('policy'));
    expect(await two.getOptimiser('policy')).toEqual(await one.getOptimiser('policy'));
  });

  it('setParameters zeroes the optimiser', async () => {
    const engine = await engineOf(tinyShape, parameters);
    await engine.update('policy', batch, fullLoss, optimiser);
    await engine.setParameters('policy', parameters);
    const { m, v, step } = await engine.getOptimiser('policy');
    expect([largest(m), largest(v), step]).toEqual([0, 0, 0]);
  });

  it.each([
    [
      'a parameter is NaN',
      (p: Float32Array) => tensorOf(p, parameterLayout(tinyShape), 'ln_f.weight').fill(Number.NaN, 0, 1),
      {},
    ],
    ['logits overflow', (p: Float32Array) => tensorOf(p, parameterLayout(tinyShape), 'lm_head.weight').fill(3e38), {}],
    ['an advantage is infinite', () => undefined, { advantages: Number.POSITIVE_INFINITY }],
    ['a target is NaN', () => undefined, { targets: Number.NaN }],
  ] as [string, (p: Float32Array) => unknown, Partial<Record<'advantages' | 'targets', number>>][])(
    'nothing moves when %s',
    async (_, poison, inputs) => {
      const bad = parameters.slice();
      poison(bad);
      const engine = await engineOf(tinyShape, bad);
      const poisoned: UpdateBatch = { ...batch, advantages: batch.advantages.slice(), targets: batch.targets.slice() };
      for (const [key, value] of Object.entries(inputs)) poisoned[key as 'advantages' | 'targets'][1] = value;
      const stats = await engine.update('policy', poisoned, fullLoss, optimiser);
      expect(stats.nonFinite).toBe(true);
      const after = await engine.getParameters('policy');
      expect(new Uint32Array(after.buffer)).toEqual(new Uint32Array(bad.buffer));
      const { m, step } = await engine.getOptimiser('policy');
      expect([largest(m), step]).toEqual([0, 0]);
    },
  );

  it('policy and critic are separate models', async () => {
    const engine = await engineOf(tinyShape, parameters);
    await engine.setParameters('critic', parameters);
    await engine.update('critic', batch, { ...fullLoss, policyCoef: 0, entropyCoef: 0, klCoef: 0 }, optimiser);
    expect(await engine.getParameters('policy')).toEqual(parameters);
    expect(difference(await engine.getParameters('critic'), parameters, { absolute: 1e-4 })).not.toBeNull();
  });
});

describe('bad input', () => {
  it.each([
    ['dModel', { dModel: 20, heads: 2 }],
    ['mlp', { mlp: 10 }],
    ['vocabulary', { vocabulary: 258 }],
    ['layers', { layers: 0 }],
    ['dModel', { dModel: 2048, heads: 64 }],
  ])('a shape with a bad %s is refused by name: %j', async (key, change) => {
    await expect(createWebGpuEngine(context, { ...tinyShape, ...change })).rejects.toThrow(`at ${key}`);
  });

  it.each([
    ['an id beyond the vocabulary', { ids: Uint32Array.of(1, 99, 3) }, 'ids[1]'],
    ['a trainable first token', { trainable: Uint32Array.of(0) }, 'row 0'],
    ['a short array', { advantages: new Float32Array(2) }, 'advantages'],
    ['offsets that do not end at the ids', { rowStart: Uint32Array.of(0, 2) }, 'rowStart'],
    ['no trainable token', { trainable: new Uint32Array(0), trainableStart: Uint32Array.of(0, 0) }, 'at trainable'],
  ])('%s is refused', async (_, change, where) => {
    const one = new Float32Array(1);
    const good: UpdateBatch = {
      ids: Uint32Array.of(1, 2, 3),
      rowStart: Uint32Array.of(0, 3),
      trainable: Uint32Array.of(2),
      trainableStart: Uint32Array.of(0, 1),
      kind: Uint8Array.of(0),
      rollout: Uint32Array.of(0),
      oldLogp: one,
      advantages: one,
      targets: one,
      oldValues: one,
      referenceLogp: one,
    };
    const engine = await engineOf(tinyShape, noisyParameters(tinyShape, 1));
    expect((await engine.update('policy', good, fullLoss, optimiser)).nonFinite).toBe(false);
    await expect(engine.update('policy', { ...good, ...change }, fullLoss, optimiser)).rejects.toThrow(where);
  });

  it('a model that was never set is named', async () => {
    const engine = await createWebGpuEngine(context, tinyShape);
    await expect(engine.getParameters('writer')).rejects.toThrow('writer');
  });

  it('parameters of another shape are refused', async () => {
    const engine = await createWebGpuEngine(context, tinyShape);
    await expect(engine.setParameters('policy', new Float32Array(8))).rejects.toThrow('another shape');
  });
});
