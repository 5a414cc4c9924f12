import { expect, test } from 'vitest';
import {
  evalSummary,
  explainedVariance,
  factRecall,
  mean,
  meanSummaryTokens,
  stopShares,
  variance,
} from '../../src/core/metrics/metrics';
import type { Rollout } from '../../src/core/trajectory/trajectory';

function rollout(part: Partial<Rollout>): Rollout {
  return {
    id: 0,
    split: 'eval',
    iteration: 0,
    family: 'chain',
    difficulty: 1,
    taskIndex: 0,
    instruction: '',
    compactionsRequired: 0,
    turnLimit: 9,
    segments: [],
    steps: [],
    compactions: [],
    stop: 'solved',
    reward: 1,
    solved: true,
    fedTokens: 0,
    killed: false,
    ...part,
  };
}

test('explained variance: 1 for a perfect critic, 0 for a constant one, below 0 for a worse one', () => {
  expect(explainedVariance([0, 1, 2], [0, 1, 2])).toBe(1);
  expect(explainedVariance([0, 1, 2], [7, 7, 7])).toBe(0);
  expect(explainedVariance([0, 1, 2], [2, 1, 0])).toBe(-3);
  expect(explainedVariance([1, 1], [0, 5])).toBeNull();
  expect(explainedVariance([], [])).toBeNull();
});

test('mean and population variance', () => {
  expect(mean([1, 2, 6])).toBe(3);
  expect(variance([1, 2, 6])).toBeCloseTo(14 / 3, 12);
  expect([mean([]), variance([])]).toEqual([null, null]);
});

test('fact recall sums over compactions before it divides', () => {
  const compaction = (factsNeeded: number, factsKept: number) => ({
    summary: '',
    tokensBefore: 0,
    tokensAfter: 0,
    factsNeeded,
    factsKept,
  });
  const rollouts = [
    rollout({ compactions: [compaction(4, 1), compaction(0, 0)] }),
    rollout({ compactions: [compaction(1, 1)] }),
  ];
  expect(factRecall(rollouts)).toBe(2 / 5);
  expect(factRecall([rollout({})])).toBeNull();
});

test('summary tokens count what was sampled, not what was read', () => {
  const segment = (kind: 'execution' | 'summary', mask: number[]) => ({
    kind,
    ids: Uint16Array.from(mask),
    mask: Uint8Array.from(mask),
    contextLength: 0,
    logp: new Float32Array(mask.length),
    values: new Float32Array(mask.length),
    advantages: new Float32Array(mask.length),
    targets: new Float32Array(mask.length),
  });
  const one = rollout({ segments: [segment('execution', [0, 1, 1, 1]), segment('summary', [0, 0, 1, 1])] });
  const two = rollout({ segments: [segment('summary', [0, 1, 1, 1, 1])] });
  expect(meanSummaryTokens([one, two])).toBe(3);
  expect(meanSummaryTokens([rollout({})])).toBeNull();
});

test('success is reported by the compactions an instance requires', () => {
  const summary = evalSummary([
    rollout({ compactionsRequired: 0 }),
    rollout({ compactionsRequired: 2, solved: false, stop: 'failed' }),
    rollout({ compactionsRequired: 2 }),
    rollout({ compactionsRequired: 1, solved: false, stop: 'turn-limit' }),
  ]);
  expect(summary.success).toBe(0.5);
  expect(summary.byCompactions).toEqual([
    { solved: 1, episodes: 1 },
    { solved: 0, episodes: 1 },
    { solved: 1, episodes: 2 },
  ]);
  expect(summary.successNeedingCompaction).toBeCloseTo(1 / 3, 12);
  expect(evalSummary([rollout({})]).successNeedingCompaction).toBeNull();
});

test('stop shares add up to 1', () => {
  const shares = stopShares([rollout({}), rollout({ stop: 'failed' }), rollout({}), rollout({ stop: 'turn-limit' })]);
  expect(shares).toEqual({ solved: 0.5, failed: 0.25, 'turn-limit': 0.25 });
});
