import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LossBatch, LossOptions } from '../../src/core/algorithm/algorithm';
import { policyWeights } from '../../src/core/algorithm/loss';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import { lossWeights } from '../../src/gpu/kernels/loss-weights';
import { ppoLoss } from '../../src/gpu/kernels/ppo-loss';
import { reduceStats } from '../../src/gpu/kernels/reduce-stats';
import { computeStepLoss } from '../../src/gpu/loss-step';
import vectors from '../fixtures/vectors.json';
import { allTerms, integer, packStep, randomSegment, randomStep, seeded, variants } from '../oracle/cases';
import { difference, worstDifference } from '../oracle/close';
import { differences, type OracleOptions, type OracleStep, oracleLoss } from '../oracle/loss';
import {
  type Changed,
  compare,
  type Packed,
  problems,
  type RunArguments,
  runLoss,
  TOLERANCE,
  wanted,
} from './loss-run';
import { mutate } from './loss-support';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
  console.log(`adapter: ${context.adapter.description}`);
});
afterAll(() => context.dispose());

const run = (...rest: RunArguments) => runLoss(context, ...rest);

describe('fixtures', () => {
  test('clipped surrogate and its slope', async () => {
    for (const { eps, ratio, advantage, objective, dObjectiveDLogp } of vectors.ppoClip) {
      const segment = randomSegment(seeded(1), false, 1);
      const token = { ...segment.tokens[0]!, oldLogp: -4, logp: -4 + Math.log(ratio), advantage };
      const options = { ...allTerms, clip: eps, valueCoef: 0, entropyCoef: 0, klCoef: 0 };
      const got = await run(packStep([[{ ...segment, tokens: [token] }]]), options);
      expect(difference([-got.stats.policyLoss], [objective], TOLERANCE)).toBeNull();
      expect(difference([-got.gradLogp[0]!], [dObjectiveDLogp], TOLERANCE)).toBeNull();
    }
  });

  test('value clip and k3', async () => {
    const { v, vOld, target, eps, loss } = vectors.valueClip;
    const segment = randomSegment(seeded(1), false, 1);
    const base = segment.tokens[0]!;
    const value = { ...base, value: v, oldValue: vOld, target };
    const clipped = await run(packStep([[{ ...segment, tokens: [value] }]]), { ...allTerms, valueClip: eps });
    expect(difference([clipped.stats.valueLoss, clipped.gradValues[0]!], [loss, 0], TOLERANCE)).toBeNull();
    for (const { logRatio, k3 } of vectors.k3) {
      const token = { ...base, logp: -1, referenceLogp: -1 - logRatio, advantage: 0 };
      const options = { ...allTerms, klCoef: 1, valueCoef: 0, entropyCoef: 0 };
      const got = await run(packStep([[{ ...segment, tokens: [token] }]]), options);
      expect(difference([got.stats.loss], [k3], TOLERANCE)).toBeNull();
    }
  });

  test('normalisations', async () => {
    const { segments, rollouts, kinds } = vectors.lossNorm;
    const random = seeded(2);
    // At ρ = 1 the loss of a token is −Â.
    const step: OracleStep = rollouts.map((rows) =>
      rows.map((s) => ({
        summary: kinds[s] === 'summary',
        tokens: segments[s]!.map((x) => ({
          ...randomSegment(random, false, 1).tokens[0]!,
          oldLogp: -1,
          logp: -1,
          advantage: -x,
        })),
      })),
    );
    for (const norm of ['token', 'segment', 'rollout', 'split'] as const) {
      const got = await run(packStep(step), { ...allTerms, lossNorm: norm });
      expect(difference([got.stats.policyLoss], [vectors.lossNorm[norm]], TOLERANCE), norm).toBeNull();
    }
  });
});

describe('against the oracle', () => {
  for (const [name, options] of variants)
    test(name, async () => {
      const random = seeded(51);
      for (const rollouts of [1, 3, 7]) {
        const step = randomStep(random, rollouts, 9);
        expect(problems(await run(packStep(step), options), step, options), `${rollouts} rollouts`).toEqual([]);
      }
    });

  test('1, workgroup ± 1 and prime numbers of tokens and rows', async () => {
    const random = seeded(52);
    for (const [rows, tokens] of [
      [1, 1],
      [1, 63],
      [1, 64],
      [1, 65],
      [63, 2],
      [64, 1],
      [65, 1],
      [131, 1],
    ] as const) {
      const step = Array.from({ length: rows }, () => [randomSegment(random, random() < 0.5, tokens)]);
      expect(problems(await run(packStep(step), allTerms), step, allTerms), `${rows} × ${tokens}`).toEqual([]);
    }
  });

  test('weights and sums of 20,011 tokens in 3,001 rows', async () => {
    const random = seeded(53);
    const step: OracleStep = Array.from({ length: 700 }, () =>
      Array.from({ length: integer(random, 1, 8) }, (_, s) =>
        randomSegment(random, s % 2 === 1, integer(random, 1, 12)),
      ),
    );
    const packed = packStep(step);
    for (const [name, options] of variants) {
      const got = await run(packed, options);
      const want = oracleLoss(step, options);
      // One float32 division of exact integers, and for segment and rollout a product before it.
      const weights = policyWeights(packed.batch, options);
      if (options.policyCoef !== 0)
        expect(difference(got.weights, weights, { absolute: 0, relative: 2 ** -22 }), name).toBeNull();
      expect(difference([got.stats.loss], [want.loss], TOLERANCE), name).toBeNull();
      expect(got.stats.valueTokens).toBe(packed.logp.length);
    }
  });

  test('more tokens and rows than one line of workgroups holds', async () => {
    // The per-token records (32 bytes) of this many tokens are just within the default binding limit of 128 MiB.
    const tokens = 65535 * 64 + 59;
    const zeros = new Float32Array(tokens);
    const ones = new Float32Array(tokens).fill(1);
    const batch: LossBatch = {
      kind: new Uint8Array(tokens),
      rollout: Uint32Array.from(zeros, (_, p) => p),
      trainableStart: Uint32Array.from({ length: tokens + 1 }, (_, p) => p),
      oldLogp: zeros,
      advantages: Float32Array.from(zeros, (_, p) => (p % 2 === 0 ? 1 : -1)),
      targets: ones,
      oldValues: zeros,
    };
    const options: LossOptions = { ...allTerms, lossNorm: 'rollout', klCoef: 0, valueCoef: 1, valueClip: 0 };
    const got = await computeStepLoss(context, batch, { logp: zeros, entropy: ones, values: zeros }, options);
    // Half of the surrogates are 1 and half −1 but for one token; ½ (V − R̂)² is ½; the entropy is 1.
    expect(difference([got.stats.loss], [0.5 - 0.01], TOLERANCE)).toBeNull();
    expect(got.stats).toMatchObject({ policyTokens: tokens, valueTokens: tokens, nonFinite: false });
    const weight = Math.fround(1 / tokens);
    expect(got.gradLogp.findIndex((g, p) => g !== (p % 2 === 0 ? -weight : weight))).toBe(-1);
    expect(got.gradValues.findIndex((g) => g !== -weight)).toBe(-1);
  }, 120_000);
});

describe('micro-batches and determinism', () => {
  test('the size of a micro-batch changes no bit, and neither does a second run', async () => {
    const packed = packStep(randomStep(seeded(54), 20, 9));
    for (const [name, options] of variants) {
      const whole = await run(packed, options);
      for (const micro of [1000, 64, 37]) expect(await run(packed, options, micro), `${name} ${micro}`).toEqual(whole);
    }
  });

  test('buffers of the whole step, read from an offset, give the same', async () => {
    const packed = packStep(randomStep(seeded(55), 8, 9));
    const { batch, ...outputs } = packed;
    const whole = await run(packed, allTerms);
    const got = await computeStepLoss(context, batch, outputs, allTerms, { microBatchTokens: 23 });
    expect(got.stats).toEqual(whole.stats);
    expect([...got.gradLogp]).toEqual(whole.gradLogp);
    expect([...got.gradEntropy]).toEqual(whole.gradEntropy);
    expect([...got.gradValues]).toEqual(whole.gradValues);
  });

  test('a row split in two keeps every bit under token, rollout and split', async () => {
    const step = randomStep(seeded(56), 6, 9);
    const split = step.map((r) =>
      r.flatMap((s) =>
        s.tokens.length < 2 ? [s] : [s.tokens.slice(0, 1), s.tokens.slice(1)].map((tokens) => ({ ...s, tokens })),
      ),
    );
    for (const lossNorm of ['token', 'rollout', 'split'] as const) {
      const options = { ...allTerms, lossNorm };
      expect(await run(packStep(split), options)).toEqual(await run(packStep(step), options));
    }
    const segment = { ...allTerms, lossNorm: 'segment' as const };
    const before = await run(packStep(step), segment);
    expect(difference((await run(packStep(split), segment)).gradLogp, before.gradLogp, TOLERANCE)).not.toBeNull();
  });

  test('zero advantages without entropy and KL terms: the actor’s gradient is exactly 0', async () => {
    const step = randomStep(seeded(57), 4, 9);
    const blank = step.map((r) => r.map((s) => ({ ...s, tokens: s.tokens.map((t) => ({ ...t, advantage: 0 })) })));
    const got = await run(packStep(blank), { ...allTerms, entropyCoef: 0, klCoef: 0 });
    expect([...got.gradLogp, ...got.gradEntropy].every((g) => g === 0)).toBe(true);
  });
});

describe('not finite', () => {
  const packed = packStep(randomStep(seeded(58), 3, 9));
  const spoil = (array: Float32Array, value: number) =>
    Float32Array.from(array, (x, p) => (p === array.length - 1 ? value : x));

  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
    test(`${value} reaches the host from every input`, async () => {
      for (const key of ['logp', 'entropy', 'values'] as const) {
        const got = await run({ ...packed, [key]: spoil(packed[key], value) }, allTerms);
        expect(got.stats.nonFinite, key).toBe(true);
      }
      for (const key of ['oldLogp', 'advantages', 'targets', 'oldValues', 'referenceLogp'] as const) {
        const batch = { ...packed.batch, [key]: spoil(packed.batch[key], value) };
        expect((await run({ ...packed, batch }, allTerms)).stats.nonFinite, key).toBe(true);
      }
    });

  test('terms that are switched off do not read their inputs', async () => {
    const nan = new Float32Array(packed.logp.length).fill(Number.NaN);
    const critic = { ...allTerms, policyCoef: 0, entropyCoef: 0, klCoef: 0 };
    const value = await run({ ...packed, logp: nan, entropy: nan }, critic);
    expect(value).toEqual(await run(packed, critic));
    const actor = { ...allTerms, valueCoef: 0 };
    expect(await run({ ...packed, values: nan }, actor)).toEqual(await run(packed, actor));
    const clone: OracleOptions = { ...allTerms, objective: 'clone', klCoef: 0 };
    const batch = { ...packed.batch, oldLogp: nan, advantages: nan };
    expect(await run({ ...packed, batch }, clone)).toEqual(await run(packed, clone));
  });

  test('a sum that overflows although every token is finite', async () => {
    const huge = packed.values.map(() => 1e19);
    const got = await run({ ...packed, values: huge }, { ...allTerms, valueClip: 0, valueCoef: 100 });
    expect(got.stats.nonFinite).toBe(true);
  });

  test('a ratio that overflows does not spoil a token it does not move', async () => {
    const logp = packed.batch.oldLogp.map((old) => old + 200);
    const advantages = packed.batch.advantages.map((a, p) => (p % 2 === 0 ? 0 : Math.abs(a)));
    const options = { ...allTerms, klCoef: 0 };
    const got = await run({ ...packed, logp, batch: { ...packed.batch, advantages } }, options);
    expect(got.stats.nonFinite).toBe(false);
    expect(got.gradLogp.every((g) => g === 0)).toBe(true);
  });
});

describe('a broken kernel is noticed', () => {
  const split: OracleOptions = { ...allTerms, lossNorm: 'split' };
  const masked: OracleOptions = { ...allTerms, trainSummary: false };
  const breaks: [string, OracleOptions, Changed][] = [
    [
      'the clip forgotten',
      allTerms,
      { ppoLoss: mutate(ppoLoss, 'advantage > 0.0 && ratio_change > params.clip', 'false') },
    ],
    [
      'the slope of the clip kept',
      allTerms,
      {
        ppoLoss: mutate(ppoLoss, '(1.0 - params.clip) * advantage, 0.0', '(1.0 - params.clip) * advantage, advantage'),
      },
    ],
    [
      'the value clip forgotten',
      allTerms,
      { ppoLoss: mutate(ppoLoss, 'clipped_error * clipped_error > square', 'false') },
    ],
    [
      'the entropy with the wrong sign',
      allTerms,
      { ppoLoss: mutate(ppoLoss, '(*t).grad_entropy = -params', '(*t).grad_entropy = params') },
    ],
    [
      'k3 of the reversed ratio',
      allTerms,
      {
        ppoLoss: mutate(ppoLoss, 'bitcast<f32>(reference_bits) - log_prob', 'log_prob - bitcast<f32>(reference_bits)'),
      },
    ],
    ['kinds counted together', split, { lossWeights: mutate(lossWeights, 'select(3u, 4u, is_summary(row))', '0u') }],
    ['summaries kept', masked, { lossWeights: mutate(lossWeights, 'params.train_summary == 0u', 'false') }],
    [
      'rows beyond the first 64 not counted',
      allTerms,
      {
        lossWeights: mutate(
          lossWeights,
          'row < params.rows; row = row + LANES',
          'row < min(params.rows, 64u); row = row + LANES',
        ),
      },
    ],
    [
      'tokens beyond the first lanes not added',
      allTerms,
      { reduceStats: mutate(reduceStats, 'while (p < params.tokens)', 'while (p < min(params.tokens, 100u))') },
    ],
    [
      'NaN not looked for',
      allTerms,
      { ppoLoss: mutate(ppoLoss, 'select(0u, 2u, bad);\n}\n\nfn value_term', '0u;\n}\n\nfn value_term') },
    ],
  ];
  const random = seeded(59);
  const step = Array.from({ length: 70 }, (_, n) => [randomSegment(random, n % 3 === 1, integer(random, 1, 3))]);
  const packed = packStep(step);
  const known = new Map<OracleOptions, ReturnType<typeof wanted>>();
  const oracle = (options: OracleOptions) => {
    const want = known.get(options) ?? wanted(step, options);
    known.set(options, want);
    return want;
  };
  for (const [name, options, changed] of breaks)
    test(name, async () => {
      if (name === 'NaN not looked for') {
        // On a token that is left out it cannot show in the loss or its gradient.
        const logp = spoilSummary(packed);
        expect((await run({ ...packed, logp }, masked)).stats.nonFinite).toBe(true);
        expect((await run({ ...packed, logp }, masked, Infinity, changed)).stats.nonFinite).toBe(false);
        return;
      }
      const want = oracle(options);
      expect(compare(await run(packed, options), want, options)).toEqual([]);
      expect(compare(await run(packed, options, Infinity, changed), want, options)).not.toEqual([]);
    });
});

/** A NaN log-prob in the first summary row. */
function spoilSummary({ batch, logp }: Packed): Float32Array<ArrayBuffer> {
  const row = batch.kind.indexOf(1);
  return Float32Array.from(logp, (x, p) => (p === batch.trainableStart[row] ? Number.NaN : x));
}

test('accuracy, printed', async () => {
  const step = randomStep(seeded(60), 12, 9);
  const got = await run(packStep(step), allTerms);
  const error = worstDifference(got.gradLogp, differences(step, allTerms, 'logp'));
  console.log(
    `dL/dlogp: worst ${error.toExponential(1)}; loss: ${Math.abs(got.stats.loss - oracleLoss(step, allTerms).loss).toExponential(1)}`,
  );
  expect(error).toBeLessThan(1e-6);
});
