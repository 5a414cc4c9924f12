import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { computeAdvantages } from '../../src/core/algorithm/advantages';
import { stepLoss } from '../../src/core/algorithm/loss';
import { parseAdvantageLine, parseLossLine, scatter } from '../../src/headless/conformance';
import vectors from '../fixtures/vectors.json';
import { difference } from '../oracle/close';

const FLOAT64 = { absolute: 1e-12 };

interface AdvantageSegment {
  kind: string;
  values: number[];
  mask: number[];
}

function advantagesOf(segments: AdvantageSegment[], mode = 'paper', reward = 1): number[][] {
  const request = parseAdvantageLine(JSON.stringify({ mode, reward, gamma: 1, lam: 0.8, segments }), 1);
  return scatter(request, computeAdvantages(request.batch, request.options).advantages, 1);
}

function lossOf(line: object): { loss: number; gradLogp: number[][] } {
  const request = parseLossLine(JSON.stringify(line), 1);
  const zeros = request.logp.map(() => 0);
  const { stats, gradLogp } = stepLoss(request.batch, request.logp, zeros, zeros, request.options);
  return { loss: stats.policyLoss, gradLogp: scatter(request, gradLogp, 1) };
}

describe('lab advantages', () => {
  const { mask, values, advantages } = vectors.observations;

  test('observations are skipped, not transitions', () => {
    const got = advantagesOf([{ kind: 'execution', values, mask }])[0]!;
    expect(
      difference(
        got.filter((_, i) => mask[i] === 1),
        advantages,
        FLOAT64,
      ),
    ).toBeNull();
    expect(got.filter((_, i) => mask[i] === 0)).toEqual([0, 0]);
  });

  test('R sits on the last mask-1 token, also when masked tokens or an unmasked row follow', () => {
    const got = advantagesOf(
      [
        { kind: 'execution', values: [0, 0, 0], mask: [1, 0, 0] },
        { kind: 'summary', values: [0, 0], mask: [0, 0] },
      ],
      'last-only',
    );
    expect(got).toEqual([
      [1, 0, 0],
      [0, 0],
    ]);
  });

  test('values at masked positions do not matter, in any mode', () => {
    const segment = fc
      .array(
        fc.tuple(
          fc.double({ min: -1, max: 1, noNaN: true }),
          fc.constantFrom(0, 1),
          fc.double({ min: -1e300, max: 1e300, noNaN: true }),
        ),
        {
          minLength: 1,
          maxLength: 8,
        },
      )
      .map((tokens) => ({
        mask: tokens.map((t) => t[1]),
        values: tokens.map((t) => t[0]),
        noisy: tokens.map((t) => (t[1] === 1 ? t[0] : t[2])),
      }));
    fc.assert(
      fc.property(
        fc.array(segment, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('paper', 'uncorrected', 'stitched', 'last-only'),
        (segments, mode) => {
          const clean = segments.map((s) => ({ kind: 'execution', values: s.values, mask: s.mask }));
          const noisy = segments.map((s) => ({ kind: 'execution', values: s.noisy, mask: s.mask }));
          expect(advantagesOf(noisy, mode)).toEqual(advantagesOf(clean, mode));
        },
      ),
      { seed: 31 },
    );
  });
});

describe('lab loss', () => {
  const token = { oldLogp: -1, logp: -1 };
  const segment = (kind: string, values: number[]) => ({
    kind,
    mask: values.map(() => 1),
    oldLogp: values.map(() => token.oldLogp),
    logp: values.map(() => token.logp),
    // At ρ = 1 the loss of a token is −Â.
    advantages: values.map((x) => -x),
  });
  const { segments, rollouts, kinds } = vectors.lossNorm;

  for (const norm of ['token', 'segment', 'rollout', 'split'] as const)
    test(`fixture, ${norm}`, () => {
      const rows = segments.map((values, s) => segment(kinds[s]!, values));
      expect(lossOf({ norm, clip: 0.2, rollouts, segments: rows }).loss).toBeCloseTo(vectors.lossNorm[norm], 12);
    });

  test('segments may come in any order; results go back where they came from, 0 at masked positions', () => {
    const a = { kind: 'execution', mask: [1, 0], oldLogp: [-1, -1], logp: [-1, 5], advantages: [1, 7] };
    const b = { kind: 'summary', mask: [0, 1], oldLogp: [-1, -2], logp: [9, -2], advantages: [7, 3] };
    const empty = { kind: 'execution', mask: [0], oldLogp: [0], logp: [0], advantages: [1] };
    const straight = lossOf({ norm: 'rollout', clip: 0.2, rollouts: [[0, 1], [2]], segments: [a, b, empty] });
    expect(straight.loss).toBeCloseTo(-2, 12);
    expect(straight.gradLogp).toEqual([[-0.5, 0], [0, -1.5], [0]]);
    const turned = lossOf({ norm: 'rollout', clip: 0.2, rollouts: [[0], [2, 1]], segments: [empty, b, a] });
    expect(turned.gradLogp).toEqual([[0], [0, -1.5], [-0.5, 0]]);
  });
});

describe('bad lines', () => {
  const good = {
    mode: 'paper',
    reward: 1,
    gamma: 1,
    lam: 0.8,
    segments: [{ kind: 'execution', values: [1], mask: [1] }],
  };
  const step = {
    norm: 'token',
    clip: 0.2,
    rollouts: [[0]],
    segments: [{ kind: 'execution', mask: [1], oldLogp: [-1], logp: [-1], advantages: [1] }],
  };
  const withFix = expect.objectContaining({ parts: expect.objectContaining({ fix: expect.any(String) }) });
  const advantageCases: [string, string, string][] = [
    ['cut off', '{"mode":"paper"', 'The line is not JSON at line 7'],
    ['an array', '[]', 'line 7, the whole line'],
    ['a missing key', JSON.stringify({ ...good, lam: undefined }), 'line 7, lam: expected the key, got nothing'],
    ['an unknown key', JSON.stringify({ ...good, lambda: 1 }), 'line 7, lambda: expected no such key'],
    ['a wrong mode', JSON.stringify({ ...good, mode: 'gae' }), 'line 7, mode'],
    ['γ above 1', JSON.stringify({ ...good, gamma: 2 }), 'line 7, gamma: expected at most 1, got 2.'],
    [
      'a reward beyond float64',
      JSON.stringify(good).replace('"reward":1', '"reward":1e999'),
      'line 7, reward: expected a number in the range of float32, got Infinity. Use a smaller number.',
    ],
    ['a reward in quotes', JSON.stringify({ ...good, reward: '1' }), 'line 7, reward: expected a number, got "1".'],
    ['no segments', JSON.stringify({ ...good, segments: [] }), 'line 7, segments: expected at least 1 element, got 0.'],
    [
      'a mask of the wrong length',
      JSON.stringify({ ...good, segments: [{ kind: 'summary', values: [1, 2], mask: [1] }] }),
      'line 7, segments[0].values: expected 1 numbers, as many as mask, got 2',
    ],
    [
      'a mask value that is no bit',
      JSON.stringify({ ...good, segments: [{ kind: 'summary', values: [1], mask: [2] }] }),
      'line 7, segments[0].mask[0]',
    ],
    [
      'a value beyond float32',
      JSON.stringify({ ...good, segments: [{ kind: 'summary', values: [1e39], mask: [1] }] }),
      'line 7, segments[0].values[0]: expected a number in the range of float32',
    ],
  ];
  for (const [name, text, message] of advantageCases)
    test(`advantages: ${name}`, () => {
      expect(() => parseAdvantageLine(text, 7)).toThrow(message);
      expect(() => parseAdvantageLine(text, 7)).toThrow(withFix);
    });

  const lossCases: [string, string, string][] = [
    ['a segment in no rollout', JSON.stringify({ ...step, rollouts: [] }), 'line 7, rollouts: expected every segment'],
    ['a segment twice', JSON.stringify({ ...step, rollouts: [[0], [0]] }), 'line 7, rollouts[1][0]'],
    ['a segment that is not there', JSON.stringify({ ...step, rollouts: [[0, 1]] }), 'line 7, rollouts[0][1]'],
    [
      'half a segment',
      JSON.stringify({ ...step, rollouts: [[0.5]] }),
      'line 7, rollouts[0][0]: expected a whole number, got 0.5.',
    ],
    ['a negative clip', JSON.stringify({ ...step, clip: -1 }), 'line 7, clip: expected at least 0, got -1.'],
    [
      'log-probs of the wrong length',
      JSON.stringify({ ...step, segments: [{ ...step.segments[0], oldLogp: [] }] }),
      'line 7, segments[0].oldLogp',
    ],
  ];
  for (const [name, text, message] of lossCases)
    test(`loss: ${name}`, () => {
      expect(() => parseLossLine(text, 7)).toThrow(message);
      expect(() => parseLossLine(text, 7)).toThrow(withFix);
    });

  test('the good lines they were made from are read', () => {
    expect(parseAdvantageLine(JSON.stringify(good), 1).places).toEqual([[0, 0]]);
    expect(parseLossLine(JSON.stringify(step), 1).places).toEqual([[0, 0]]);
  });

  test('a byte-order mark before the first line is not read as JSON', () => {
    expect(parseLossLine(`\uFEFF${JSON.stringify(step)}`, 1).places).toEqual([[0, 0]]);
    expect(() => parseLossLine(`\uFEFF${JSON.stringify(step)}`, 2)).toThrow('not JSON');
  });

  test('a result that is not finite is an error, never JSON null', () => {
    expect(() => scatter({ places: [[0, 0]], lengths: [1] }, [Number.POSITIVE_INFINITY], 3)).toThrow('line 3');
  });
});
