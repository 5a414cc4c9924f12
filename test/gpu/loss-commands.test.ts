import { describe, expect, test } from 'vitest';
import type { CommandIo } from '../../src/headless/command';
import { runLab } from '../../src/headless/lab';
import vectors from '../fixtures/vectors.json';
import { difference } from '../oracle/close';

/** Runs one command over some lines. */
async function lab(words: string[], input: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const io: CommandIo = {
    out: (text) => out.push(text),
    err: (text) => err.push(text),
    async *lines() {
      for (const [i, text] of input.entries()) yield { number: i + 1, text };
    },
    signal: new AbortController().signal,
  };
  const code = await runLab(words, io);
  return { code, answers: out.map((line) => JSON.parse(line)), err: err.join('') };
}

const modes = ['paper', 'uncorrected', 'stitched', 'last-only'] as const;
const advantageLines = vectors.advantages.flatMap(({ segments, reward, gamma, lam }) =>
  modes.map((mode) => ({
    mode,
    reward,
    gamma,
    lam,
    segments: segments.map((values, s) => ({
      kind: s % 2 === 0 ? 'execution' : 'summary',
      values,
      mask: values.map(() => 1),
    })),
  })),
);
const wantedAdvantages = vectors.advantages.flatMap((fixture) => modes.map((mode) => fixture[mode]));
const { segments, rollouts, kinds } = vectors.lossNorm;
const norms = ['token', 'segment', 'rollout', 'split'] as const;
const lossLines = norms.map((norm) => ({
  norm,
  clip: 0.2,
  rollouts,
  // At ρ = 1 the loss of a token is −Â.
  segments: segments.map((losses, s) => ({
    kind: kinds[s],
    mask: losses.map(() => 1),
    oldLogp: losses.map(() => -1),
    logp: losses.map(() => -1),
    advantages: losses.map((x) => -x),
  })),
}));

for (const engine of ['gpu', 'cpu'])
  describe(`--engine ${engine}`, () => {
    /** The agreed accuracy of the conformance commands. */
    const tolerance = { absolute: 1e-5 };

    test('advantages answers the fixtures', async () => {
      const { code, answers } = await lab(
        ['advantages', '--engine', engine],
        advantageLines.map((line) => JSON.stringify(line)),
      );
      expect(code).toBe(0);
      expect(answers).toHaveLength(wantedAdvantages.length);
      answers.forEach(({ advantages }, i) => {
        expect(difference(advantages.flat(), wantedAdvantages[i]!.flat(), tolerance)).toBeNull();
      });
    });

    test('loss answers the fixtures', async () => {
      const { code, answers } = await lab(
        ['loss', '--engine', engine],
        lossLines.map((line) => JSON.stringify(line)),
      );
      expect(code).toBe(0);
      expect(
        difference(
          answers.map((a) => a.loss),
          norms.map((norm) => vectors.lossNorm[norm]),
          tolerance,
        ),
      ).toBeNull();
    });

    test('lines before a bad one are answered, the bad one is named, blank lines count', async () => {
      const good = JSON.stringify(lossLines[0]);
      const { code, answers, err } = await lab(['loss', '--engine', engine], [good, '', good, '{"norm":', good]);
      expect(code).toBe(1);
      expect(answers).toHaveLength(2);
      expect(err).toContain('line 4');
    });

    test('a step without mask-1 tokens has loss 0 and gradient 0', async () => {
      const empty = { kind: 'execution', mask: [0], oldLogp: [0], logp: [0], advantages: [1] };
      const line = JSON.stringify({ norm: 'token', clip: 0.2, rollouts: [[0]], segments: [empty] });
      expect((await lab(['loss', '--engine', engine], [line])).answers).toEqual([{ loss: 0, gradLogp: [[0]] }]);
      const rollout = { ...advantageLines[0], segments: [{ kind: 'execution', values: [3], mask: [0] }] };
      const { answers } = await lab(['advantages', '--engine', engine], [JSON.stringify(rollout)]);
      expect(answers).toEqual([{ advantages: [[0]], targets: [[0]] }]);
    });
  });

test('an engine that does not exist is refused before any line is read', async () => {
  const { code, answers, err } = await lab(['loss', '--engine', 'tpu'], [JSON.stringify(lossLines[0])]);
  expect([code, answers.length]).toEqual([2, 0]);
  expect(err).toContain('gpu | cpu');
});
