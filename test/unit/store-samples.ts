/** Random rollouts, runs and checkpoints for tests of whatever keeps or carries them. */
import fc from 'fast-check';
import { defaultConfig } from '../../src/core/config/config';
import type { IterationRecord } from '../../src/core/metrics/records';
import type { Checkpoint, RunHeader } from '../../src/core/protocol/protocol';
import type { Rollout, Segment } from '../../src/core/trajectory/trajectory';

/** Any float32 bit pattern: denormals, −0, infinities, and NaNs with payloads if `nan`. */
const anyFloats = (length: number): fc.Arbitrary<Float32Array> =>
  fc
    .array(fc.integer({ min: 0, max: 0xffffffff }), { minLength: length, maxLength: length })
    .map((bits) => new Float32Array(Uint32Array.from(bits).buffer));

/** A segment whose floats obey the mask (as a trainer makes it) or do not. */
const segment = (obeysMask: boolean): fc.Arbitrary<Segment> =>
  fc.integer({ min: 0, max: 40 }).chain((length) =>
    fc
      .record({
        kind: fc.constantFrom('execution' as const, 'summary' as const),
        contextLength: fc.integer({ min: 0, max: length }),
        ids: fc
          .array(fc.integer({ min: 0, max: 0xffff }), { minLength: length, maxLength: length })
          .map((ids) => Uint16Array.from(ids)),
        mask: fc
          .array(fc.integer({ min: 0, max: 1 }), { minLength: length, maxLength: length })
          .map((mask) => Uint8Array.from(mask)),
        logp: anyFloats(length),
        values: anyFloats(length),
        advantages: anyFloats(length),
        targets: anyFloats(length),
      })
      .map((made) => {
        if (obeysMask)
          for (const floats of [made.logp, made.values, made.advantages, made.targets])
            made.mask.forEach((bit, i) => {
              if (!bit) floats[i] = 0;
            });
        return made;
      }),
  );

const small = fc.integer({ min: 0, max: 1000 });
const text = fc.string({ unit: 'binary', maxLength: 30 });

export const rolloutArbitrary: fc.Arbitrary<Rollout> = fc.record({
  id: small,
  split: fc.constantFrom('train', 'eval'),
  iteration: small,
  family: text,
  difficulty: small,
  taskIndex: small,
  instruction: text,
  compactionsRequired: small,
  turnLimit: small,
  segments: fc.array(fc.oneof(segment(true), segment(false)), { maxLength: 5 }),
  steps: fc.array(
    fc.record({ command: text, output: text, exitCode: fc.integer({ min: -1, max: 255 }), segment: small }),
    {
      maxLength: 3,
    },
  ),
  compactions: fc.array(
    fc.record({ summary: text, tokensBefore: small, tokensAfter: small, factsNeeded: small, factsKept: small }),
    { maxLength: 2 },
  ),
  stop: fc.constantFrom('solved', 'failed', 'turn-limit', 'command-limit', 'window-full', 'resume-too-long'),
  reward: fc.double({ min: 0, max: 1, noNaN: true }),
  solved: fc.boolean(),
  fedTokens: small,
  killed: fc.boolean(),
});

/** `count` fixed rollouts: the same for the same seed. */
export function sampleRollouts(count: number, seed: number): Rollout[] {
  return fc.sample(rolloutArbitrary, { numRuns: count, seed });
}

/** A rollout with each float32 array as its bits: comparison then sees −0 and the payload of a NaN. */
export function bits(rollout: Rollout): unknown {
  const of = (floats: Float32Array) => Array.from(new Uint32Array(floats.buffer, floats.byteOffset, floats.length));
  return {
    ...rollout,
    segments: rollout.segments.map((s) => ({
      ...s,
      logp: of(s.logp),
      values: of(s.values),
      advantages: of(s.advantages),
      targets: of(s.targets),
    })),
  };
}

export function sampleHeader(runId: string, createdAt = '2026-01-01T00:00:00.000Z'): RunHeader {
  return {
    runId,
    config: defaultConfig,
    seed: 7,
    preset: 'quick',
    createdAt,
    adapter: 'test adapter',
    engine: 'webgpu',
    build: 'test',
  };
}

export function sampleRecord(iteration: number): IterationRecord {
  return {
    iteration,
    envTokens: 100 * iteration,
    trainSuccess: 0.25,
    meanReturn: 0.25,
    loss: -0.125,
    policyLoss: -0.25,
    valueLoss: 0.125,
    entropy: 1 / 3,
    kl: 1e-9,
    clipFraction: 0,
    gradNorm: 1,
    ratioError: 0,
    explainedVariance: null,
    explainedVarianceExecution: null,
    explainedVarianceSummary: null,
    summaryTokens: 8,
    compactions: 3,
    turns: 9,
    factRecall: null,
    advantageBySegment: [0.1, -0.1],
    stops: { solved: 1 },
    policyTokens: 50,
    learningRate: 0.002,
    updateSkipped: false,
    alarms: [],
    rolloutMs: 1,
    updateMs: 1,
    evalMs: 0,
  };
}

/** A checkpoint of `size` floats a list, told apart by its iteration. */
export function sampleCheckpoint(iteration: number, size = 64): Checkpoint {
  const list = (offset: number) =>
    Float32Array.from({ length: size }, (_, i) => Math.fround(iteration + offset + i / 3));
  return {
    iteration,
    envTokens: 100 * iteration,
    policy: { parameters: list(0), m: list(0.1), v: list(0.2), step: iteration },
    critic: { parameters: list(0.5), m: list(0.6), v: list(0.7), step: iteration },
    elapsedMs: 5 * iteration,
  };
}
