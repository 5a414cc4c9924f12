/**
 * A summary continues its execution segment, so both lie in one row. Against the same segments in rows of their own: equal
 * scores, loss and gradient, in both engines.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RandomStream } from '../../src/core/rng';
import type { Rollout, Segment, SegmentKind } from '../../src/core/trajectory/trajectory';
import type { GpuContext } from '../../src/gpu/device';
import type { LossOptions, PolicyEngine, UpdateBatch } from '../../src/model/engine';
import { createTfjsEngine } from '../../src/model/tfjs/engine';
import { createWebGpuEngine } from '../../src/model/webgpu/engine';
import { packRollouts, selectRollouts, type TrainingRows } from '../../src/run/learn/batch';
import { expectClose, fullLoss, noisyParameters, quickShape, testContext } from './transformer-support';

let context: GpuContext;
beforeAll(async () => {
  context = await testContext();
});
afterAll(() => context.dispose());

const random = new RandomStream(11, 'test', 0);
const someIds = (n: number) => Array.from({ length: n }, () => random.integer(quickShape.vocabulary));

/** @param trained tokens sampled at the end of what is new; the others are context or observations */
function segmentOf(kind: SegmentKind, before: readonly number[], fresh: number, trained: number): Segment {
  const ids = [...before, ...someIds(fresh)];
  const mask = Uint8Array.from(ids, (_, i) => (i >= ids.length - trained ? 1 : 0));
  // An action, an observation, another action.
  if (kind === 'execution') mask[before.length + 3] = 1;
  return {
    kind,
    ids: Uint16Array.from(ids),
    mask,
    contextLength: 1,
    logp: Float32Array.from(ids, () => -5 + random.normal()),
    values: Float32Array.from(ids, () => random.normal()),
    advantages: new Float32Array(ids.length),
    targets: new Float32Array(ids.length),
  };
}

/** Rollouts of 0 to 3 compactions, the last of them ended on its summary. */
const rollouts = [0, 1, 2, 3, 1].map((compactions, n) => {
  const segments: Segment[] = [];
  for (let c = 0; c < compactions; c++) {
    const execution = segmentOf('execution', [], 8 + random.integer(40), 1 + random.integer(3));
    segments.push(execution, segmentOf('summary', [...execution.ids], 2 + random.integer(8), 2));
  }
  if (n < 4) segments.push(segmentOf('execution', [], 6 + random.integer(30), 2));
  return { segments } as unknown as Rollout;
});

function batchOf(rows: TrainingRows, rollout: Uint32Array): UpdateBatch {
  const tokens = rows.oldLogp.length;
  const draw = new RandomStream(12, 'test', 0);
  const numbers = () => Float32Array.from({ length: tokens }, () => draw.normal());
  const arrays = { oldLogp: rows.oldLogp, advantages: numbers(), targets: numbers(), oldValues: numbers() };
  const whole = Array.from({ length: rows.rolloutStart.length - 1 }, (_, n) => n);
  return { ...selectRollouts(rows, { ...arrays, referenceLogp: numbers() }, whole), rollout };
}

const shared = packRollouts(rollouts);
/** Each segment as a rollout of its own: nothing is shared. */
const apart = packRollouts(rollouts.flatMap((r) => r.segments.map((s) => ({ segments: [s] }) as unknown as Rollout)));
const together = batchOf(shared, shared.rollout);
const separate = batchOf(apart, shared.rollout);

test('the cases are what they are meant to be', () => {
  expect(shared.rowStart.length).toBe(apart.rowStart.length - 7);
  expect(shared.trainable.length).toBe(apart.trainable.length);
  expect(together.advantages).toEqual(separate.advantages);
});

const losses: LossOptions[] = (['token', 'segment', 'rollout', 'split'] as const).flatMap((lossNorm) =>
  [true, false].map((trainSummary) => ({ ...fullLoss, lossNorm, trainSummary })),
);

type Create = (microBatchTokens: number) => Promise<PolicyEngine>;
describe.each([
  ['webgpu', (microBatchTokens) => createWebGpuEngine(context, quickShape, { microBatchTokens })],
  ['tfjs', (microBatchTokens) => createTfjsEngine(context, quickShape, { microBatchTokens })],
] as [string, Create][])('%s', (name, create) => {
  test.each([8192, 128])('micro-batches of %d tokens', async (microBatchTokens) => {
    const engine = await create(microBatchTokens);
    try {
      await engine.setParameters('policy', noisyParameters(quickShape, 4));
      const [one, other] = [await engine.score('policy', together), await engine.score('policy', separate)];
      // tfjs pads rows to other lengths, and sums in another order; our kernels read a prefix in one order only.
      for (const key of ['logp', 'entropy', 'values'] as const)
        expectClose(key, one[key], other[key], { absolute: name === 'tfjs' ? 1e-5 : 0 });
      for (const loss of microBatchTokens === 128 ? losses.slice(0, 1) : losses) {
        const got = await engine.gradient('policy', together, loss);
        const want = await engine.gradient('policy', separate, loss);
        const largest = want.gradient.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
        expect(largest).toBeGreaterThan(1e-3);
        // The same float32 terms added in another order: 1e-5 of the largest entry.
        expectClose(JSON.stringify(loss), got.gradient, want.gradient, { absolute: 1e-5 * largest });
        expectClose('loss', [got.stats.loss], [want.stats.loss], { absolute: 1e-5 });
        expect(got.stats.policyTokens).toBe(want.stats.policyTokens);
        expect(got.stats.valueTokens).toBe(want.stats.valueTokens);
      }
    } finally {
      engine.dispose();
    }
  });
});
