import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clippedSurrogate, expm1Minus, k3, policyWeights, stepLoss, valueLoss } from '../../src/core/algorithm/loss';
import vectors from '../fixtures/vectors.json';
import { allTerms, lossNorms, packStep, randomStep, seeded, starts, variants } from '../oracle/cases';
import { difference } from '../oracle/close';
import { differences, type OracleOptions, type OracleStep, oracleLoss } from '../oracle/loss';

/** Both sides are float64 with other orders of summation. */
const FLOAT64 = { absolute: 1e-12 };
/** Central differences with h = 1e-5: h² truncation 1e-10 plus rounding 1e-16 / h, times values up to 10. */
const DIFFERENCES = { absolute: 1e-8 };

function compute(step: OracleStep, options: OracleOptions) {
  const { batch, logp, entropy, values } = packStep(step);
  return stepLoss(batch, logp, entropy, values, options);
}

const steps = fc.nat().map((seed) => {
  const random = seeded(seed);
  return randomStep(random, 1 + Math.floor(3 * random()), 6);
});

describe('fixtures', () => {
  const { lossNorm } = vectors;
  const rowsOf = (counts: number[], rollout: number[], kinds: string[]) => ({
    kind: kinds.map((k) => (k === 'summary' ? 1 : 0)),
    rollout,
    trainableStart: starts(counts),
  });
  const reduce = (segments: number[][], rollout: number[], kinds: string[], norm: (typeof lossNorms)[number]) => {
    const rows = rowsOf(
      segments.map((s) => s.length),
      rollout,
      kinds,
    );
    const weights = policyWeights(rows, { lossNorm: norm, trainSummary: true });
    return segments.flat().reduce((total, x, p) => total + weights[p]! * x, 0);
  };

  for (const norm of lossNorms)
    test(`normalisation ${norm}`, () => {
      expect(reduce(lossNorm.segments, [0, 1, 1, 1], lossNorm.kinds, norm)).toBeCloseTo(lossNorm[norm], 12);
    });

  test('splitting a row of X changes the segment mean and nothing else (T3)', () => {
    const kinds = ['execution', ...lossNorm.kinds];
    const split = (norm: (typeof lossNorms)[number]) =>
      reduce(lossNorm.resplitX.segments, [0, 0, 1, 1, 1], kinds, norm);
    expect(split('token')).toBeCloseTo(lossNorm.resplitX.token, 12);
    expect(split('segment')).toBeCloseTo(lossNorm.resplitX.segment, 12);
    expect(split('rollout')).toBeCloseTo(lossNorm.rollout, 12);
    expect(split('split')).toBeCloseTo(lossNorm.split, 12);
  });

  test('clipped surrogate and its slope', () => {
    for (const { eps, ratio, advantage, objective, dObjectiveDLogp } of vectors.ppoClip) {
      const got = clippedSurrogate(Math.log(ratio), advantage, eps);
      expect(got.value).toBeCloseTo(objective, 12);
      expect(got.slope).toBeCloseTo(dObjectiveDLogp, 12);
    }
  });

  test('value clip', () => {
    for (const { v, target, vOld, eps, loss } of [vectors.valueClip])
      expect(valueLoss(v, target, vOld, eps)).toEqual({ value: expect.closeTo(loss, 12), slope: 0 });
  });

  test('k3', () => {
    for (const { logRatio, k3: want } of vectors.k3) expect(k3(logRatio).value).toBeCloseTo(want, 12);
  });
});

describe('against the oracle', () => {
  for (const [name, options] of variants)
    test(name, () => {
      fc.assert(
        fc.property(steps, (step) => {
          const { stats, gradLogp, gradEntropy, gradValues } = compute(step, options);
          const want = oracleLoss(step, options);
          // A critic's own loss does not read the policy's outputs, so their statistics are 0.
          const policy = options.policyCoef !== 0;
          expect(stats.loss).toBeCloseTo(want.loss, 11);
          expect(stats.valueLoss).toBeCloseTo(want.valueLoss, 11);
          for (const key of ['policyLoss', 'entropy', 'kl', 'clipFraction', 'maxRatioError'] as const)
            expect(stats[key]).toBeCloseTo(policy ? want[key] : 0, 11);
          expect(stats.nonFinite).toBe(false);
          expect(difference(gradLogp, differences(step, options, 'logp'), DIFFERENCES)).toBeNull();
          expect(difference(gradEntropy, differences(step, options, 'entropy'), DIFFERENCES)).toBeNull();
          expect(difference(gradValues, differences(step, options, 'value'), DIFFERENCES)).toBeNull();
        }),
        { seed: 21, numRuns: 20 },
      );
    });

  test('the oracle tells a mean per segment from a mean per token', () => {
    const step = randomStep(seeded(4), 3, 6);
    const { gradLogp } = compute(step, { ...allTerms, lossNorm: 'segment' });
    expect(difference(gradLogp, differences(step, allTerms, 'logp'), DIFFERENCES)).not.toBeNull();
  });
});

describe('weights', () => {
  for (const lossNorm of lossNorms)
    for (const trainSummary of [true, false])
      test(`${lossNorm}, summaries ${trainSummary ? 'trained' : 'left out'}: they sum to the number of means`, () => {
        fc.assert(
          fc.property(steps, (step) => {
            const { batch } = packStep(step);
            const weights = policyWeights(batch, { lossNorm, trainSummary });
            const kinds = new Set(step.flat().map((s) => s.summary));
            const means = lossNorm === 'split' && trainSummary ? kinds.size : 1;
            expect(weights.reduce((a, b) => a + b, 0)).toBeCloseTo(means, 12);
            batch.kind.forEach((kind, row) => {
              const own = weights.subarray(batch.trainableStart[row]!, batch.trainableStart[row + 1]!);
              expect(own.every((w) => (kind === 1 && !trainSummary ? w === 0 : w > 0))).toBe(true);
            });
          }),
          { seed: 22 },
        );
      });

  test('a row split in two keeps loss and gradient, except under segment', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom(...lossNorms), (step, lossNorm) => {
        const options = { ...allTerms, lossNorm };
        const split = step.map((rollout) =>
          rollout.flatMap((s) =>
            s.tokens.length < 2
              ? [s]
              : [
                  { ...s, tokens: s.tokens.slice(0, 1) },
                  { ...s, tokens: s.tokens.slice(1) },
                ],
          ),
        );
        fc.pre(split.flat().length > step.flat().length);
        const before = compute(step, options);
        const after = compute(split, options);
        const changed = difference(after.gradEntropy, before.gradEntropy, FLOAT64);
        if (lossNorm !== 'segment') {
          expect(changed).toBeNull();
          expect(difference(after.gradLogp, before.gradLogp, FLOAT64)).toBeNull();
          expect(after.stats.loss).toBeCloseTo(before.stats.loss, 11);
        } else {
          // Only a step whose rows all had the same length and were all split the same way could stay as it was.
          const lengths = new Set(step.flat().map((s) => s.tokens.length));
          if (lengths.size > 1) expect(changed).not.toBeNull();
        }
      }),
      { seed: 23 },
    );
  });

  test('a rollout of nothing but summaries leaves the number of rollouts when summaries are not trained', () => {
    const rows = { kind: [0, 1, 0], rollout: [1, 2, 3], trainableStart: [0, 2, 5, 9] };
    const weights = policyWeights(rows, { lossNorm: 'rollout', trainSummary: false });
    expect([...weights]).toEqual([1 / 4, 1 / 4, 0, 0, 0, 1 / 8, 1 / 8, 1 / 8, 1 / 8]);
    const segments = policyWeights(rows, { lossNorm: 'segment', trainSummary: false });
    expect([...segments]).toEqual([...weights]);
  });

  test('summaries that are not trained stay in the value loss', () => {
    const step = randomStep(seeded(9), 2, 5);
    const { stats, gradValues, gradLogp, gradEntropy } = compute(step, { ...allTerms, trainSummary: false });
    const summary = step.flat(1).flatMap((s) => s.tokens.map(() => s.summary));
    expect(stats.valueTokens).toBe(summary.length);
    expect(stats.policyTokens).toBe(summary.filter((s) => !s).length);
    summary.forEach((isSummary, p) => {
      expect(gradLogp[p] === 0 && gradEntropy[p] === 0).toBe(isSummary);
    });
    const plain = compute(step, { ...allTerms, trainSummary: true });
    expect([...gradValues]).toEqual([...plain.gradValues]);
  });
});

describe('edges', () => {
  const step = randomStep(seeded(3), 2, 4);

  test('zero advantages and no entropy or KL term: the actor’s gradient is exactly 0', () => {
    const blank = step.map((r) => r.map((s) => ({ ...s, tokens: s.tokens.map((t) => ({ ...t, advantage: 0 })) })));
    const { gradLogp, gradEntropy } = compute(blank, { ...allTerms, entropyCoef: 0, klCoef: 0 });
    expect([...gradLogp, ...gradEntropy].every((g) => g === 0)).toBe(true);
  });

  test('a NaN or an infinity anywhere the loss reads is reported', () => {
    const { batch, logp, entropy, values } = packStep(step);
    const bad = (array: Float32Array, value: number) => Float32Array.from(array, (x, p) => (p === 1 ? value : x));
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      expect(stepLoss(batch, bad(logp, value), entropy, values, allTerms).stats.nonFinite).toBe(true);
      expect(stepLoss(batch, logp, bad(entropy, value), values, allTerms).stats.nonFinite).toBe(true);
      expect(stepLoss(batch, logp, entropy, bad(values, value), allTerms).stats.nonFinite).toBe(true);
      for (const key of ['oldLogp', 'advantages', 'targets', 'oldValues', 'referenceLogp'] as const) {
        const broken = { ...batch, [key]: bad(batch[key], value) };
        expect(stepLoss(broken, logp, entropy, values, allTerms).stats.nonFinite, key).toBe(true);
      }
    }
    const critic = { ...allTerms, policyCoef: 0, entropyCoef: 0, klCoef: 0 };
    expect(stepLoss(batch, bad(logp, Number.NaN), bad(entropy, Number.NaN), values, critic).stats.nonFinite).toBe(
      false,
    );
    const actor = { ...allTerms, valueCoef: 0 };
    expect(stepLoss(batch, logp, entropy, bad(values, Number.NaN), actor).stats.nonFinite).toBe(false);
  });

  test('a ratio that overflows does not spoil a token it does not move', () => {
    expect(clippedSurrogate(1000, 0, 0.2)).toEqual({ value: 0, slope: 0 });
    expect(clippedSurrogate(1000, 1, 0.2)).toEqual({ value: 1.2, slope: 0 });
  });

  test('e^x − 1 − x keeps its digits near 0', () => {
    expect(expm1Minus(0)).toBe(0);
    expect(expm1Minus(1e-5) / (0.5e-10 * (1 + 1e-5 / 3))).toBeCloseTo(1, 9);
    for (const x of [-0.6, -0.5, -0.4999, 0.4999, 0.5, 2]) expect(expm1Minus(x)).toBeCloseTo(Math.exp(x) - 1 - x, 13);
  });

  test('a step without policy tokens has loss 0 there; a KL term without reference is refused', () => {
    const summaries = step.map((r) => r.map((s) => ({ ...s, summary: true })));
    const { stats } = compute(summaries, { ...allTerms, trainSummary: false, valueCoef: 0 });
    expect(stats).toMatchObject({ loss: 0, policyLoss: 0, entropy: 0, kl: 0, policyTokens: 0, nonFinite: false });
    const { batch, logp, entropy, values } = packStep(step);
    expect(() => stepLoss({ ...batch, referenceLogp: undefined }, logp, entropy, values, allTerms)).toThrow(
      'needs log-probs of the reference policy',
    );
  });
});
