import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RandomStream, randomKey } from '../../src/core/rng';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, GpuContext } from '../../src/gpu/device';
import type { DecodeJob, DecodeResult } from '../../src/model/engine';
import type { ModelShape } from '../../src/model/parameters';
import { Decoder } from '../../src/model/webgpu/decode';
import { fusedFits } from '../../src/model/webgpu/decode-fused';
import type { DecodePathName } from '../../src/model/webgpu/decode-path';
import { workgroupFits } from '../../src/model/webgpu/decode-workgroup';
import { oracleForward, oracleTensors } from '../oracle/decode';
import {
  compareWithOracle,
  type Histories,
  makeJob,
  quick,
  randomParameters,
  shapes,
  TOLERANCE,
  upload,
} from './decode-support';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
});
afterAll(() => context.dispose());

const key = randomKey(20261, 'test');

interface Setup {
  decoder: Decoder;
  parameters: GPUBuffer;
  flat: Float32Array;
}
async function withDecoder(
  shape: ModelShape,
  path: DecodePathName,
  seed: number,
  body: (setup: Setup) => Promise<void>,
): Promise<void> {
  const before = context.bytes;
  const flat = randomParameters(shape, seed);
  const parameters = upload(context, flat);
  const decoder = await Decoder.create(context, shape, { path });
  try {
    await body({ decoder, parameters, flat });
  } finally {
    decoder.dispose();
    context.destroyBuffer(parameters);
  }
  expect(context.bytes).toBe(before);
}

const paths: DecodePathName[] = ['lane', 'subgroup', 'workgroup', 'layered'];
const supports = { lane: fusedFits, subgroup: fusedFits, workgroup: workgroupFits, layered: () => true };

// The first dispatch of a shape compiles: seconds on an idle software adapter, more on a busy one.
describe.each(paths)('%s', { timeout: 300_000 }, (path) => {
  test.each(Object.entries(shapes).filter(([, shape]) => supports[path](shape)))(
    '%s: three calls agree with the float64 oracle',
    async (_name, shape) => {
      await withDecoder(shape, path, 7, async ({ decoder, parameters, flat }) => {
        const rng = new RandomStream(11, 'test', 1);
        const histories: Histories = new Map();
        const slots = 11;
        decoder.openSlots(slots, shape.positions);
        const fits = (n: number) => Math.max(1, Math.min(n, Math.floor(shape.positions / 4) - 3));
        let total = { samples: 0, exact: 0, worst: 0 };
        const check = async (jobs: DecodeJob[]) => {
          const got = compareWithOracle(
            shape,
            flat,
            key,
            histories,
            jobs,
            await decoder.decode(parameters, jobs, { key }),
          );
          total = {
            samples: total.samples + got.samples,
            exact: total.exact + got.exact,
            worst: Math.max(total.worst, got.worst),
          };
        };
        // New contexts of different length, some with a stop token that is hit early.
        await check(
          [10, 3, 0, 7, 1, 2, 9, 4, 5].map((slot) =>
            makeJob(histories, rng, shape, {
              slot,
              start: 0,
              feed: (1 + (fits(20) * slot) / 10) | 0,
              cap: 1 + (slot % 4),
              stop: slot % shape.vocabulary,
            }),
          ),
        );
        // The same contexts continue: the last sampled token was never fed, so it comes first.
        await check(
          [3, 10, 0, 7].map((slot) => {
            const history = histories.get(slot)!;
            const job = makeJob(histories, rng, shape, {
              slot,
              start: history.length - 1,
              feed: 1 + (slot % 3),
              cap: 3,
              index: 40,
            });
            job.feed[0] = history[history.length - 1]!;
            histories.set(slot, [...history.slice(0, -1), ...job.feed]);
            return job;
          }),
        );
        // Slots reused: from the beginning, and cut back to a prefix.
        await check([
          makeJob(histories, rng, shape, { slot: 7, start: 0, feed: 2, cap: 2 }),
          makeJob(histories, rng, shape, { slot: 10, start: 1, feed: 3, cap: 2 }),
          makeJob(histories, rng, shape, { slot: 6, start: 0, feed: fits(9), cap: 2, stream: 0xfffffff0 }),
        ]);
        expect(total.samples).toBeGreaterThan(20);
        // A draw lands within 1e-5 of a boundary in V·2e-5 of the cases at most.
        expect(total.exact / total.samples).toBeGreaterThan(0.95);
      });
    },
  );

  test('a job gives the same bits alone, among 65, and in another order', async () => {
    await withDecoder(quick, path, 3, async ({ decoder, parameters, flat }) => {
      const rng = new RandomStream(5, 'test', 2);
      const histories: Histories = new Map();
      decoder.openSlots(65, 60);
      const jobs = Array.from({ length: 65 }, (_, slot) =>
        makeJob(histories, rng, quick, { slot, start: 0, feed: 1 + ((slot * 13) % 40), cap: 1 + (slot % 12), stop: 9 }),
      );
      const together = await decoder.decode(parameters, jobs, { key });
      compareWithOracle(quick, flat, key, histories, jobs, together);
      expect(await decoder.decode(parameters, jobs, { key })).toEqual(together);
      expect(await decoder.decode(parameters, [...jobs].reverse(), { key })).toEqual([...together].reverse());
      for (const j of [0, 7, 8, 33, 64])
        expect(await decoder.decode(parameters, [jobs[j]!], { key })).toEqual([together[j]]);
    });
  });

  test('work cut into many submits gives the same bits', async () => {
    const flat = randomParameters(quick, 3);
    const parameters = upload(context, flat);
    const jobs = Array.from({ length: 9 }, (_, slot) => ({
      slot,
      start: 0,
      feed: Uint32Array.from({ length: 1 + 3 * slot }, (_, i) => (i * 29 + slot) % 256),
      previous: 0,
      stop: 9,
      cap: 1 + 2 * slot,
      stream: slot,
      index: 3,
    }));
    const results: DecodeResult[][] = [];
    // About 20,000 multiply-adds a token: one token, 7 tokens (chunks that end inside a job), everything.
    for (const submitMacs of [1, 150_000, 2 ** 27]) {
      const decoder = await Decoder.create(context, quick, { path, submitMacs });
      decoder.openSlots(9, 60);
      results.push(await decoder.decode(parameters, jobs, { key }));
      decoder.dispose();
    }
    context.destroyBuffer(parameters);
    expect(results[0]).toEqual(results[2]);
    expect(results[1]).toEqual(results[2]);
  });

  test('feeding in one call or in two gives the same bits', async () => {
    await withDecoder(quick, path, 3, async ({ decoder, parameters }) => {
      decoder.openSlots(2, 60);
      const feed = Uint32Array.from({ length: 30 }, (_, i) => (i * 37) % 256);
      const base = { previous: 0, stop: 256, stream: 4, index: 0 };
      const [once] = await decoder.decode(parameters, [{ ...base, slot: 0, start: 0, feed, cap: 4 }], { key });
      await decoder.decode(parameters, [{ ...base, slot: 1, start: 0, feed: feed.subarray(0, 17), cap: 6 }], { key });
      const rest = { ...base, slot: 1, start: 17, feed: feed.subarray(17), previous: feed[16]!, cap: 4 };
      expect(await decoder.decode(parameters, [rest], { key })).toEqual([once]);
    });
  });

  test('a context longer than a tile of attention scores', async () => {
    const shape: ModelShape = { ...shapes.smallest!, positions: 300 };
    await withDecoder(shape, path, 7, async ({ decoder, parameters, flat }) => {
      decoder.openSlots(3, 300);
      const histories: Histories = new Map();
      const rng = new RandomStream(6, 'test', 4);
      // Tiles have 128 positions: just before, at and after an edge, and a third tile.
      const jobs = [126, 128, 290].map((feed, slot) =>
        makeJob(histories, rng, shape, { slot, start: 0, feed, cap: 4 }),
      );
      const results = await decoder.decode(parameters, jobs, { key });
      const { samples } = compareWithOracle(shape, flat, key, histories, jobs, results);
      expect(samples).toBe(12);
    });
  });

  test('samples follow the distribution: chi-square over 4,096 draws', async () => {
    const shape = shapes.smallest!;
    await withDecoder(shape, path, 2, async ({ decoder, parameters, flat }) => {
      decoder.openSlots(1024, 4);
      const counts = new Float64Array(16);
      for (let call = 0; call < 4; call++) {
        const jobs = Array.from({ length: 1024 }, (_, slot) => ({
          slot,
          start: 0,
          feed: Uint32Array.of(5),
          previous: 0,
          stop: 16,
          cap: 1,
          stream: slot,
          index: call,
        }));
        for (const { ids } of await decoder.decode(parameters, jobs, { key })) counts[ids[0]!]! += 1;
      }
      const [state] = oracleForward(shape, oracleTensors(shape, flat), [5]);
      let chi = 0;
      state!.logp.forEach((logp, id) => {
        const expected = 4096 * Math.exp(logp);
        chi += (counts[id]! - expected) ** 2 / expected;
      });
      // 15 degrees of freedom: P(χ² > 37.7) = 0.001. The seed is fixed, so this cannot flicker.
      expect(chi).toBeLessThan(37.7);
    });
  });
});

test('subgroups of 4 lanes: each takes two loads where 8 take one, and the results are right too', {
  timeout: 300_000,
}, async () => {
  // The least that the adapter may have; llvmpipe really has 8.
  const of4 = new GpuContext(context.device, { ...context.adapter, subgroupMinSize: 4 });
  const flat = randomParameters(quick, 3);
  const parameters = upload(context, flat);
  const decoder = await Decoder.create(of4, quick, { path: 'subgroup' });
  decoder.openSlots(9, 16);
  const histories: Histories = new Map();
  const rng = new RandomStream(8, 'test', 5);
  const jobs = Array.from({ length: 9 }, (_, slot) =>
    makeJob(histories, rng, quick, { slot, start: 0, feed: 1 + slot, cap: 4 }),
  );
  const results = await decoder.decode(parameters, jobs, { key });
  const { samples } = compareWithOracle(quick, flat, key, histories, jobs, results);
  expect(samples).toBeGreaterThanOrEqual(9);
  decoder.dispose();
  context.destroyBuffer(parameters);
});

test('without a choice the fused kernel is taken where it fits, and all paths sample the same within tolerance', async () => {
  const auto = await Decoder.create(context, quick);
  expect(auto.path).toBe('subgroup');
  auto.dispose();
  const large = shapes['weights beyond a uniform buffer']!;
  const fallback = await Decoder.create(context, large);
  expect(fallback.path).toBe('layered');
  fallback.dispose();
  await expect(Decoder.create(context, large, { path: 'lane' })).rejects.toMatchObject({ code: 'gpu.choice' });
  const wide = { ...large, dModel: 512 };
  await expect(Decoder.create(context, wide, { path: 'workgroup' })).rejects.toMatchObject({ code: 'gpu.choice' });

  const jobs = Array.from({ length: 33 }, (_, slot) => ({
    slot,
    start: 0,
    feed: Uint32Array.from({ length: 3 + slot }, (_, i) => (i * 41 + slot * 7) % 256),
    previous: 0,
    stop: 256,
    cap: 6,
    stream: slot,
    index: 0,
  }));
  const results: DecodeResult[][] = [];
  for (const path of paths)
    await withDecoder(quick, path, 4, async ({ decoder, parameters }) => {
      decoder.openSlots(33, 64);
      results.push(await decoder.decode(parameters, jobs, { key }));
    });
  const layered = results.pop()!;
  for (const other of results) {
    let compared = 0;
    jobs.forEach((_, j) => {
      const a = other[j]!;
      const b = layered[j]!;
      for (let i = 0; i < 6; i++) {
        // A draw on a CDF boundary may differ; contexts differ from there on. The oracle tests bound such draws.
        if (a.ids[i] !== b.ids[i]) break;
        expect(Math.abs(a.logp[i]! - b.logp[i]!)).toBeLessThan(TOLERANCE);
        expect(Math.abs(a.values[i]! - b.values[i]!)).toBeLessThan(TOLERANCE);
        compared++;
      }
    });
    expect(compared).toBeGreaterThan(0.95 * 33 * 6);
  }
}, 300_000);

test('the widest model of the workgroup path compiles within the limits that every device has', async () => {
  const gpu = await dawnGpu();
  const adapter = await gpu!.requestAdapter();
  const device = await adapter!.requestDevice();
  expect(device.limits.maxComputeWorkgroupStorageSize).toBe(16384);
  const least = new GpuContext(device, context.adapter);
  // 6 heads: attention scores that are no multiple of 16 bytes long.
  for (const shape of [
    { ...quick, dModel: 256, heads: 8, mlp: 1024, vocabulary: 1024 },
    { ...quick, dModel: 240, heads: 6, mlp: 1024, vocabulary: 1024 },
  ]) {
    const decoder = await Decoder.create(least, shape, { path: 'workgroup' });
    expect(decoder.path).toBe('workgroup');
    decoder.dispose();
  }
  least.dispose();
});

test('a slot remembers only what was fed, and mistakes are named before anything runs', async () => {
  await withDecoder(quick, 'subgroup', 1, async ({ decoder, parameters }) => {
    decoder.openSlots(2, 20);
    const job: DecodeJob = {
      slot: 0,
      start: 0,
      feed: Uint32Array.of(1, 2, 3),
      previous: 0,
      stop: 256,
      cap: 4,
      stream: 0,
      index: 0,
    };
    await decoder.decode(parameters, [job], { key });
    const failing: [string, Partial<DecodeJob>][] = [
      ['decode.slot', { slot: 2 }],
      // 3 fed and 4 sampled, the last of them not fed: 6 positions are filled.
      ['decode.start', { start: 7 }],
      ['decode.start', { slot: 1, start: 1 }],
      ['decode.feed', { feed: new Uint32Array(0) }],
      ['decode.feed', { feed: Uint32Array.of(256) }],
      ['decode.feed', { start: 6, previous: 256 }],
      ['decode.cap', { cap: 0 }],
      ['decode.length', { cap: 19 }],
    ];
    for (const [code, change] of failing)
      await expect(decoder.decode(parameters, [{ ...job, ...change }], { key }), code).rejects.toMatchObject({ code });
    await expect(decoder.decode(parameters, [job, job], { key })).rejects.toMatchObject({ code: 'decode.slot' });
    expect(await decoder.decode(parameters, [{ ...job, start: 6, cap: 12 }], { key })).toHaveLength(1);
    expect(await decoder.decode(parameters, [], { key })).toEqual([]);
    expect(() => decoder.openSlots(1, 129)).toThrow(/positions/);
  });
  await expect(Decoder.create(context, { ...quick, vocabulary: 255 })).rejects.toMatchObject({ code: 'model.shape' });
}, 300_000);
