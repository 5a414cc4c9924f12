/** What an iteration asks of its engine, with an engine that only answers: no device, no model. */
import { describe, expect, test } from 'vitest';
import { computeAdvantages } from '../../src/core/algorithm/advantages';
import { type PartialConfig, parseConfig } from '../../src/core/config/config';
import type { Rollout, Segment, SegmentKind } from '../../src/core/trajectory/trajectory';
import type {
  LossOptions,
  ModelRole,
  PackedRows,
  PolicyEngine,
  UpdateBatch,
  UpdateStats,
} from '../../src/model/engine';
import { learn } from '../../src/run/learn/learn';

/** Two context tokens, then sampled ones; the decoder's log-prob is −1, its value 0.25. */
function segmentOf(kind: SegmentKind, sampled: number): Segment {
  const mask = Uint8Array.from({ length: 2 + sampled }, (_, i) => (i < 2 ? 0 : 1));
  const under = (x: number) => Float32Array.from(mask, (m) => (m ? x : 0));
  return {
    kind,
    ids: new Uint16Array(mask.length),
    mask,
    contextLength: 2,
    logp: under(-1),
    values: under(0.25),
    advantages: new Float32Array(mask.length),
    targets: new Float32Array(mask.length),
  };
}

const rolloutOf = (segments: Segment[], reward = 1) => ({ segments, reward }) as unknown as Rollout;
const compacted = () => rolloutOf([segmentOf('execution', 3), segmentOf('summary', 2), segmentOf('execution', 2)]);

const calm: UpdateStats = {
  loss: 0,
  policyLoss: 0,
  valueLoss: 0,
  entropy: 0,
  kl: 0,
  clipFraction: 0,
  maxRatioError: 0,
  gradNorm: 0,
  policyTokens: 1,
  valueTokens: 1,
  nonFinite: false,
};

interface Update {
  readonly role: ModelRole;
  readonly batch: UpdateBatch;
  readonly loss: LossOptions;
}

interface Answers {
  /** What a forward pass says of trainable token p. */
  readonly logp?: (p: number) => number;
  /** What update number n reports. */
  readonly stats?: (n: number) => Partial<UpdateStats>;
  /** Every advantage, in place of the computed ones. */
  readonly advantage?: number;
}

/** Learns once. */
async function learnOnce(rollouts: Rollout[], partial: PartialConfig, answers: Answers = {}) {
  const { logp = () => -1, stats = () => ({}), advantage } = answers;
  const updates: Update[] = [];
  const scored: ModelRole[] = [];
  const value: Record<ModelRole, number> = { policy: 0.75, critic: 0.5, reference: 0, writer: 0.25 };
  const engine = {
    score: async (role: ModelRole, { trainable }: PackedRows) => {
      scored.push(role);
      return {
        logp: Float32Array.from(trainable, (_, p) => logp(p)),
        entropy: new Float32Array(trainable.length).fill(3),
        values: new Float32Array(trainable.length).fill(value[role]),
      };
    },
    advantages: async (...args: Parameters<typeof computeAdvantages>) => {
      const { advantages, targets } = computeAdvantages(...args);
      const given = Float32Array.from(advantages, (a) => advantage ?? a);
      return { advantages: given, targets: Float32Array.from(targets) };
    },
    update: async (role: ModelRole, batch: UpdateBatch, loss: LossOptions) => {
      updates.push({ role, batch, loss });
      return { ...calm, ...stats(updates.length - 1) };
    },
  } as unknown as PolicyEngine;
  const config = parseConfig({ episodes: rollouts.length, minibatches: 1, ...partial });
  const quiet = async () => {};
  const result = await learn(rollouts, {
    engine,
    config,
    seed: 1,
    iteration: 0,
    progress: 0,
    gate: quiet,
    onPhase: quiet,
  });
  return { result, updates, scored };
}

describe('values that advantages are computed from', () => {
  const valuesOf = (rollout: Rollout) => rollout.segments.map((s) => s.values[2]);

  test('shared critic: those seen while decoding', async () => {
    const rollout = compacted();
    await learnOnce([rollout], { critic: 'shared' });
    expect(valuesOf(rollout)).toEqual([0.25, 0.25, 0.25]);
  });

  test('shared critic, summaries by a frozen writer: those of the policy, not of the writer', async () => {
    const rollout = compacted();
    const { updates } = await learnOnce([rollout], { critic: 'shared', trainSummary: 'frozen' });
    expect(valuesOf(rollout)).toEqual([0.75, 0.75, 0.75]);
    expect([...updates[0]!.batch.oldValues]).toEqual(new Array(7).fill(0.75));
  });

  test('separate critic: those of the critic', async () => {
    const rollout = compacted();
    await learnOnce([rollout], { critic: 'separate', valuePretrain: 0 });
    expect(valuesOf(rollout)).toEqual([0.5, 0.5, 0.5]);
  });
});

describe('ρ before the first update', () => {
  const alarmsOf = ({ result }: Awaited<ReturnType<typeof learnOnce>>) => result.alarms.map((a) => a.code);
  const four = () => Array.from({ length: 4 }, compacted);

  test.each([0.1, Number.NaN])('off by %d in the first minibatch: the alarm', async (maxRatioError) => {
    const stats = (n: number) => (n === 0 ? { maxRatioError } : {});
    const learned = await learnOnce(four(), { critic: 'shared', minibatches: 4 }, { stats });
    expect(learned.result.ratioError).toBe(maxRatioError);
    expect(alarmsOf(learned)).toContain('ratio-not-one');
  });

  test('later minibatches are read by a policy that has moved: no alarm, and no pass for it alone', async () => {
    const stats = (n: number) => ({ maxRatioError: n === 0 ? 1e-6 : 0.5, entropy: n });
    const learned = await learnOnce(four(), { critic: 'shared', minibatches: 4 }, { stats });
    expect(learned.result.ratioError).toBe(1e-6);
    expect(alarmsOf(learned)).toEqual([]);
    expect(learned.scored).toEqual([]);
    expect(learned.result.entropy).toBe(1.5);
  });

  test('without a step all tokens are scored; one NaN among good tokens raises the alarm', async () => {
    const logp = (p: number) => (p === 1 ? Number.NaN : -1);
    const learned = await learnOnce([compacted()], { critic: 'shared' }, { advantage: 0, logp });
    expect(learned.updates).toEqual([]);
    expect(learned.result.ratioError).toBeNaN();
    expect(learned.result.entropy).toBe(3);
    expect(alarmsOf(learned)).toEqual(['zero-advantages', 'ratio-not-one']);
  });

  test.each(['masked', 'frozen'] as const)('%s: summary tokens are not looked at', async (trainSummary) => {
    // Tokens 3 and 4 are the summary's.
    const logp = (p: number) => (p === 3 || p === 4 ? -2 : -1);
    const still = { advantage: 0, logp };
    const { result } = await learnOnce([compacted()], { critic: 'shared', trainSummary }, still);
    expect(result.ratioError).toBe(0);
    expect(result.policyTokens).toBe(5);
    expect((await learnOnce([compacted()], { critic: 'shared' }, still)).result.ratioError).toBeGreaterThan(0.5);
  });
});

describe('value pretraining', () => {
  const four = () => Array.from({ length: 4 }, compacted);
  const separate: PartialConfig = { critic: 'separate', minibatches: 4, valueUpdates: 0, valuePretrain: 50 };

  test('is exactly as many steps as asked for, whatever the minibatches', async () => {
    const { updates } = await learnOnce(four(), separate);
    expect(updates.filter((u) => u.role === 'critic')).toHaveLength(50);
  });

  test('is not held back by the value clip, which the updates after it keep', async () => {
    const { updates } = await learnOnce(four(), { ...separate, valueUpdates: 1, valueClip: 0.2 });
    const clips = updates.filter((u) => u.role === 'critic').map((u) => u.loss.valueClip);
    expect(clips).toEqual([...new Array(50).fill(0), ...new Array(4).fill(0.2)]);
  });
});

test('rollouts that ended before a token was sampled are passed over', async () => {
  const empty = () => rolloutOf([], 0);
  const some = await learnOnce([empty(), compacted(), empty(), empty()], { critic: 'separate', minibatches: 4 });
  expect(some.updates.length).toBeGreaterThan(0);
  expect(some.updates.every((u) => u.batch.trainable.length === 7)).toBe(true);
  const none = await learnOnce([empty(), empty()], { critic: 'separate', minibatches: 2 });
  expect(none.updates).toEqual([]);
  expect(none.result.stats).toBeNull();
});

describe('the reward that is learned from', () => {
  /** Four summary tokens in two summaries; one of two facts kept, then two of two. */
  const spoken = () => ({
    ...rolloutOf(
      [segmentOf('execution', 3), segmentOf('summary', 1), segmentOf('execution', 1), segmentOf('summary', 3)],
      1,
    ),
    compactions: [
      { factsNeeded: 2, factsKept: 1 },
      { factsNeeded: 2, factsKept: 2 },
    ],
  });
  const lastTarget = async (partial: PartialConfig) => {
    const rollout = spoken() as unknown as Rollout;
    await learnOnce([rollout], { lambdaScope: 'fixed', lambda: 1, critic: 'shared', ...partial });
    return rollout.segments[3]!.targets.at(-1);
  };

  test('success alone by default; less the price of four tokens; plus the recall reward on three of four facts', async () => {
    expect(await lastTarget({})).toBeCloseTo(1, 6);
    expect(await lastTarget({ summaryPrice: 0.125 })).toBeCloseTo(0.5, 6);
    expect(await lastTarget({ recallReward: 2 })).toBeCloseTo(2.5, 6);
    expect(await lastTarget({ summaryPrice: 0.125, recallReward: 2 })).toBeCloseTo(2, 6);
  });
});
