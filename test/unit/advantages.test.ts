import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  computeAdvantages,
  integerPower,
  lambdaPerRow,
  lengthAdaptiveLambda,
  outcomeAdvantages,
  scaleAdvantages,
} from '../../src/core/algorithm/advantages';
import type { AdvantageMode } from '../../src/core/algorithm/algorithm';
import { advantageBySegment } from '../../src/core/metrics/metrics';
import type { Rollout } from '../../src/core/trajectory/trajectory';
import vectors from '../fixtures/vectors.json';
import { type OracleRollout, oracleAdvantages } from '../oracle/advantages';
import { integer, packRollouts, randomRollout, seeded, starts } from '../oracle/cases';
import { difference } from '../oracle/close';

const modes: readonly AdvantageMode[] = ['paper', 'uncorrected', 'stitched', 'last-only'];
/** Both sides are float64 with other orders of summation. */
const FLOAT64 = { absolute: 1e-12 };

function compute(rollouts: OracleRollout[], mode: AdvantageMode, valueTarget: 'local' | 'corrected' = 'local') {
  return computeAdvantages(packRollouts(rollouts), { mode, gamma: rollouts[0]!.gamma, valueTarget });
}

/** Rollouts of one to four segments of one to nine tokens. */
const rolloutsArbitrary = fc
  .record({ seed: fc.nat(), count: fc.integer({ min: 1, max: 4 }), gamma: fc.constantFrom(1, 0.99, 0.5) })
  .map(({ seed, count, gamma }) => {
    const random = seeded(seed);
    return Array.from({ length: count }, () =>
      randomRollout(
        random,
        Array.from({ length: integer(random, 1, 4) }, () => integer(random, 1, 9)),
        gamma,
      ),
    );
  });

describe('fixtures', () => {
  for (const fixture of vectors.advantages)
    for (const mode of modes)
      test(`${fixture.name}, ${mode}`, () => {
        const { segments, reward, gamma, lam } = fixture;
        const batch = {
          values: segments.flat(),
          trainableStart: starts(segments.map((s) => s.length)),
          rolloutStart: [0, segments.length],
          rewards: [reward],
          lambda: segments.map(() => lam),
        };
        const got = computeAdvantages(batch, { mode, gamma, valueTarget: 'local' });
        expect(difference(got.advantages, fixture[mode].flat(), FLOAT64)).toBeNull();
        expect(difference(got.targets, fixture.targets[mode].flat(), FLOAT64)).toBeNull();
      });

  test('(γλ)^0 is 1 at λ 0', () => {
    const { segments, lam, paper } = vectors.lambdaZero;
    const rollout = { segments, reward: 1, gamma: 1, lambda: [lam, lam] };
    const batch = { ...packRollouts([rollout]), values: segments.flat() };
    const got = computeAdvantages(batch, { mode: 'paper', gamma: 1, valueTarget: 'local' });
    expect(difference(got.advantages, paper.flat(), FLOAT64)).toBeNull();
  });

  for (const { n, scope, factors } of vectors.lambdaFactors)
    test(`factors of ${n.join(' + ')} tokens with λ per ${scope}`, () => {
      const lambda = lambdaPerRow(starts(n), [0, n.length], scope as 'rollout' | 'segment');
      const after = n.map((_, s) => n.slice(s + 1).reduce((a, b) => a + b, 0));
      const got = n.map((_, s) => integerPower(lambda[s]!, after[s]!));
      expect(difference(got, factors, FLOAT64)).toBeNull();
    });

  test('outcome: each rollout counts once in its group', () => {
    for (const { group, advantages } of vectors.outcome)
      expect(difference(outcomeAdvantages(group, group.length), advantages, FLOAT64)).toBeNull();
    const two = vectors.outcome.flatMap((o) => o.group);
    expect(
      difference(
        outcomeAdvantages(two.slice(0, 4), 2),
        [1, -1, -1, 1].map((s) => (s * 0.5) / 0.500001),
        FLOAT64,
      ),
    ).toBeNull();
  });

  test('T5: RMS scaling keeps the sign that whitening turns', () => {
    const { advantages, rmsScaled, whitened } = vectors.meanSubtraction;
    // The fixture is printed with six decimals.
    expect(difference(scaleAdvantages(advantages, [1, 1, 1, 1, 1], 'rms'), rmsScaled, { absolute: 5.1e-7 })).toBeNull();
    expect(Math.sign(whitened[4]!)).not.toBe(Math.sign(advantages[4]!));
  });

  test('T6: Eq. 14 makes the mean advantage depend on the future length even for an exact V', () => {
    const rollout = (reward: number, after: number) => ({
      segments: [[0.5], new Array<number>(after).fill(0.5)],
      reward,
      gamma: 1,
      lambda: [0.9, 0.9],
    });
    const rollouts = [rollout(1, 5), rollout(0, 15)];
    const { advantages } = compute(rollouts, 'paper');
    const { trainableStart, rolloutStart } = packRollouts(rollouts);
    const segment = (row: number) => {
      const own = Float32Array.from(advantages.slice(trainableStart[row], trainableStart[row + 1]));
      return { mask: new Uint8Array(own.length).fill(1), advantages: own };
    };
    const finished = rollouts.map((_, n) => ({
      segments: [segment(rolloutStart[n]!), segment(rolloutStart[n]! + 1)],
    })) as unknown as Rollout[];
    const [first] = advantageBySegment(finished);
    // The fixture is printed with five decimals.
    expect(Math.abs(first! - vectors.futureLengthBias.mean)).toBeLessThan(5.1e-6);
  });
});

describe('against the closed form', () => {
  for (const mode of modes)
    test(mode, () => {
      fc.assert(
        fc.property(rolloutsArbitrary, (rollouts) => {
          const got = compute(rollouts, mode);
          const corrected = compute(rollouts, mode, 'corrected');
          const want = rollouts.map((r) => oracleAdvantages(r, mode));
          expect(
            difference(
              got.advantages,
              want.flatMap((w) => w.advantages.flat()),
              FLOAT64,
            ),
          ).toBeNull();
          expect(
            difference(
              got.targets,
              want.flatMap((w) => w.targets.flat()),
              FLOAT64,
            ),
          ).toBeNull();
          const values = rollouts.flatMap((r) => r.segments.flat());
          expect(
            difference(
              corrected.targets,
              corrected.advantages.map((a, p) => a + values[p]!),
              FLOAT64,
            ),
          ).toBeNull();
        }),
        { seed: 11, numRuns: 200 },
      );
    });

  test('the closed form tells a forgotten factor from Eq. 14', () => {
    const rollout = randomRollout(seeded(5), [3, 2, 4], 1);
    const want = oracleAdvantages(rollout, 'paper').advantages.flat();
    expect(difference(compute([rollout], 'uncorrected').advantages, want, FLOAT64)).not.toBeNull();
  });
});

describe('properties', () => {
  test('zero rewards and zero values give exactly zero, in every mode', () => {
    fc.assert(
      fc.property(rolloutsArbitrary, fc.constantFrom(...modes), (rollouts, mode) => {
        const blank = rollouts.map((r) => ({ ...r, reward: 0, segments: r.segments.map((s) => s.map(() => 0)) }));
        const { advantages, targets } = compute(blank, mode);
        expect([...advantages, ...targets].every((x) => x === 0)).toBe(true);
      }),
      { seed: 12 },
    );
  });

  test('the factor falls with the tokens that follow and is 1 for the last segment', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 2, maxLength: 6 }), (counts) => {
        const lambda = lambdaPerRow(starts(counts), [0, counts.length], 'rollout');
        // With V = 0 and R = 1 the last token of a segment has advantage = factor.
        const rollout = {
          segments: counts.map((n) => new Array<number>(n).fill(0)),
          reward: 1,
          gamma: 1,
          lambda: [...lambda],
        };
        const { advantages } = compute([rollout], 'paper');
        const factors = counts.map((_, s) => advantages[starts(counts)[s + 1]! - 1]!);
        expect(factors[factors.length - 1]).toBe(1);
        for (let s = 1; s < factors.length; s++) expect(factors[s - 1]!).toBeLessThan(factors[s]!);
      }),
      { seed: 13 },
    );
  });

  test('Eq. 15: the reward reaches a token with its distance to the end of the rollout as exponent', () => {
    const rollout = { segments: [[0, 0, 0], [0, 0], [0]], reward: 1, gamma: 1, lambda: [0.9, 0.9, 0.9] };
    const want = [5, 4, 3, 2, 1, 0].map((n) => 0.9 ** n);
    for (const mode of ['paper', 'stitched'] as const)
      expect(difference(compute([rollout], mode).advantages, want, FLOAT64)).toBeNull();
  });

  test('a rollout does not depend on the rollouts around it', () => {
    fc.assert(
      fc.property(rolloutsArbitrary, fc.constantFrom(...modes), (rollouts, mode) => {
        const together = compute(rollouts, mode).advantages;
        const apart = rollouts.flatMap((r) => [...compute([r], mode).advantages]);
        expect([...together]).toEqual(apart);
      }),
      { seed: 14 },
    );
  });

  test('a row without tokens changes nothing and is nobody’s last segment', () => {
    for (const mode of modes) {
      const rollout = { segments: [[0.2, 0.4], [0.5]], reward: 1, gamma: 1, lambda: [0.8, 0.8] };
      const padded = { ...rollout, segments: [[], [0.2, 0.4], [], [0.5], []], lambda: [0.8, 0.8, 0.8, 0.8, 0.8] };
      expect([...compute([padded], mode).advantages]).toEqual([...compute([rollout], mode).advantages]);
    }
  });
});

describe('λ and scaling', () => {
  test('length-adaptive λ stays in [0, 1) for every length, also 0 and 1', () => {
    expect(lengthAdaptiveLambda(0)).toBe(0);
    expect(lengthAdaptiveLambda(1)).toBeCloseTo(1 / 3, 15);
    fc.assert(
      fc.property(fc.nat({ max: 1e6 }), fc.constantFrom(0.5, 1, 1.5, 3), (length, alpha) => {
        const lambda = lengthAdaptiveLambda(length, alpha);
        expect(lambda >= 0 && lambda < 1).toBe(true);
      }),
      { seed: 15 },
    );
  });

  test('scopes: the rollout’s length, the row’s, or a fixed λ', () => {
    const start = starts([2, 1, 3]);
    expect([...lambdaPerRow(start, [0, 2, 3], 'fixed', 0.98)]).toEqual([0.98, 0.98, 0.98]);
    const rollout = [3, 3, 3].map((l) => 1 - 1 / (1.5 * l));
    expect(difference(lambdaPerRow(start, [0, 2, 3], 'rollout'), rollout, FLOAT64)).toBeNull();
    const segment = [2, 1, 3].map((l) => 1 - 1 / (1.5 * l));
    expect(difference(lambdaPerRow(start, [0, 2, 3], 'segment'), segment, FLOAT64)).toBeNull();
  });

  test('the RMS counts policy tokens only and has a floor', () => {
    const scaled = scaleAdvantages([1, 1, 100], [1, 1, 0], 'rms');
    expect([...scaled]).toEqual([1, 1, 100]);
    expect([...scaleAdvantages([0.01, -0.01], [1, 1], 'rms')]).toEqual([0.01 / 0.2, -0.01 / 0.2]);
    expect([...scaleAdvantages([3, 4], [1, 1], 'none')]).toEqual([3, 4]);
    expect([...scaleAdvantages([1], [0], 'rms')]).toEqual([5]);
  });

  test('outcome: equal rewards give exactly 0 although their mean is rounded', () => {
    expect([...outcomeAdvantages([0.1, 0.1, 0.1], 3)]).toEqual([0, 0, 0]);
    expect([...outcomeAdvantages([0.7], 1)]).toEqual([0]);
  });
});
