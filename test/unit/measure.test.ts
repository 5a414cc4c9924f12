import { describe, expect, test } from 'vitest';
import { checkJobs } from '../../src/model/check-decode';
import type { DecodeJob } from '../../src/model/engine';
import { checkBatch } from '../../src/model/webgpu/check-rows';
import { decodeFlops, updateFlops } from '../../src/run/measure/flops';
import { measuredModels } from '../../src/run/measure/models';
import { alternate, batchSize, mapSpread, spreadOf } from '../../src/run/measure/rounds';
import { DECODE_CALLS, DECODE_WINDOW, DecodeScript, syntheticBatch } from '../../src/run/measure/synthetic';

const { quick, d128 } = measuredModels;

describe('a spread', () => {
  test('has the middle and the ends, whatever the order', () => {
    expect(spreadOf([10, 2, 9])).toEqual({ median: 9, min: 2, max: 10, samples: 3 });
    expect(spreadOf([4, 1, 10, 2])).toEqual({ median: 3, min: 1, max: 10, samples: 4 });
  });
  test.each([[[]], [[1, Number.NaN]], [[Number.POSITIVE_INFINITY]]])('of %j is refused', (samples) => {
    expect(() => spreadOf(samples)).toThrow(expect.objectContaining({ code: 'measure.samples' }));
  });
  test('of times becomes one of rates: the longest time is the lowest rate', () => {
    expect(mapSpread(spreadOf([1, 2, 4]), (ms) => 8 / ms)).toEqual({ median: 4, min: 2, max: 8, samples: 3 });
  });
});

test('contestants alternate, and the first round is not counted', async () => {
  const order: string[] = [];
  const contestant = (name: string) => async () => void order.push(name);
  const spreads = await alternate({ a: contestant('a'), b: contestant('b') }, 3);
  expect(order.join('')).toBe('abababab');
  expect([spreads.a.samples, spreads.b.samples]).toEqual([3, 3]);
});

test('a batch is repeated until it is long enough', async () => {
  const counts: number[] = [];
  const count = await batchSize(async (n) => {
    counts.push(n);
    const until = performance.now() + n * 2;
    while (performance.now() < until);
  }, 20);
  expect(count).toBeGreaterThanOrEqual(10);
  expect(count).toBeLessThanOrEqual(20);
  expect(counts[0]).toBe(1);
});

/** Multiply-adds by walking through the model product by product, token by token. */
function countedMacs(shape: typeof quick | typeof d128, context: number): { block: number; attention: number } {
  const { dModel: d, mlp } = shape;
  let block = 0;
  let attention = 0;
  for (let l = 0; l < shape.layers; l++) {
    for (const [inputs, outputs] of [
      [d, 3 * d], // attn.qkv
      [d, d], // attn.proj
      [d, mlp], // mlp.fc
      [mlp, d], // mlp.proj
    ] as const)
      for (let i = 0; i < inputs; i++) block += outputs;
    for (let h = 0; h < shape.heads; h++) for (let t = 0; t < context; t++) attention += 2 * (d / shape.heads); // q·k, and weight times v
  }
  return { block, attention };
}

describe('FLOPs', () => {
  test.each([quick, d128])('of a sampled token: $dModel wide', (shape) => {
    const { block, attention } = countedMacs(shape, 40);
    expect(decodeFlops(shape, 40)).toBe(2 * (block + attention + shape.dModel * shape.vocabulary + shape.dModel));
  });

  test('of an update: three times forward, attention over the prefix, heads where a token is trained', () => {
    const rows = {
      ids: new Uint32Array(5),
      rowStart: Uint32Array.from([0, 3, 5]),
      trainable: Uint32Array.from([2, 4]),
      trainableStart: Uint32Array.from([0, 1, 2]),
    };
    let macs = 2 * quick.dModel * (quick.vocabulary + 1);
    for (const context of [1, 2, 3, 1, 2]) {
      const { block, attention } = countedMacs(quick, context);
      macs += block + attention;
    }
    expect(updateFlops(quick, rows)).toBe(3 * 2 * macs);
  });
});

describe('the synthetic batch', () => {
  const batch = syntheticBatch(quick, 4096);
  const lengths = [...batch.kind].map((_, r) => batch.rowStart[r + 1]! - batch.rowStart[r]!);

  test('is one an engine accepts, the same for the same seed', () => {
    expect(() => checkBatch(batch, quick)).not.toThrow();
    expect(syntheticBatch(quick, 4096)).toEqual(batch);
    expect(syntheticBatch(quick, 4096, 2).ids).not.toEqual(batch.ids);
  });
  test('has rows of 20–64 tokens, as many as asked for, about a quarter of them trainable', () => {
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(20);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(64);
    expect(batch.ids.length).toBeGreaterThanOrEqual(4096);
    expect(batch.ids.length).toBeLessThan(4096 + 64);
    const share = batch.trainable.length / batch.ids.length;
    expect(share).toBeGreaterThan(0.2);
    expect(share).toBeLessThan(0.3);
  });
  test('trains the last token of every row, so that no token of a row is idle', () => {
    for (let r = 0; r < lengths.length; r++)
      expect(batch.trainable[batch.trainableStart[r + 1]! - 1]).toBe(batch.rowStart[r + 1]! - 1);
  });
});

test('the decode script fills its windows and continues what its caches hold', () => {
  const script = new DecodeScript(quick, 5);
  const filled = new Uint32Array(5);
  const last = new Map<number, { sampled: number; fed: number }>();
  let tokens = 0;
  const windows: number[] = [];
  let longest = 0;
  for (let call = 0; call < 4 * DECODE_CALLS; call++) {
    const jobs: DecodeJob[] = script.jobs();
    expect(() => checkJobs(quick, jobs, filled, DECODE_WINDOW)).not.toThrow();
    const results = jobs.map((job) => {
      if (call % DECODE_CALLS === 0) expect(job.start).toBe(0);
      else {
        expect(job.start).toBe(filled[job.slot]);
        expect([job.feed[0], job.previous]).toEqual([last.get(job.slot)!.sampled, last.get(job.slot)!.fed]);
      }
      const ids = Uint32Array.from({ length: job.cap }, (_, i) => (call * 50 + job.slot * 10 + i) % 256);
      filled[job.slot] = job.start + job.feed.length + ids.length - 1;
      last.set(job.slot, { sampled: ids[ids.length - 1]!, fed: ids[ids.length - 2]! });
      tokens += job.feed.length + ids.length;
      longest = Math.max(longest, filled[job.slot]!);
      return { ids, logp: new Float32Array(ids.length), values: new Float32Array(ids.length) };
    });
    script.accept(jobs, results);
    if ((call + 1) % DECODE_CALLS === 0) windows.push(script.tokens / (windows.length + 1));
  }
  expect(script.tokens).toBe(tokens);
  expect(longest).toBeGreaterThan(50);
  expect(windows).toEqual(new Array(4).fill(windows[0]));
});
