/** Results that nobody measured, for tests of the comparison: two setups, five arms, up to six seeds over three warm starts. */

import type { CellResult, Curve, Experiment, ExperimentResults } from '../../../src/core/experiment/experiment';
import type { EvalSummary } from '../../../src/core/metrics/records';

export const fakeExperiment: Experiment = {
  version: 1,
  id: 'sample',
  title: 'Sample experiment',
  about: 'Does training the summaries matter? Every arm had the same tuning budget: none.',
  seeds: 6,
  warmStarts: 3,
  shared: { window: 64, iterations: 12, episodes: 8, suite: 'chain', keepTask: true, tailSteps: 0, maxCompactions: 16, actionCap: 8, observationCap: 14, summaryCap: 10, difficultyMin: 1, difficultyMax: 8 },
  setups: [
    { id: 'terminal-small', title: 'Terminal, small policy', config: {} },
    { id: 'code-small', title: 'Code, small policy', config: { window: 72 } },
  ],
  arms: [
    { id: 'base', title: 'Base', isolates: 'What training adds at all.', config: {}, policy: 'base' },
    { id: 'full', title: 'CompactionRL', isolates: 'The reference: everything as in the paper.', config: {} },
    { id: 'masked', title: 'Summary loss masked', isolates: 'What it is worth to train the summary tokens.', config: { trainSummary: 'masked' } },
    { id: 'uncorrected', title: 'Uncorrected', isolates: 'The factor of Eq. 14 that discounts early segments.', config: { advantage: 'uncorrected' } },
    { id: 'last-only', title: 'Last segment only', isolates: 'Paying only the last segment.', config: { advantage: 'last-only' }, setups: ['terminal-small'], seeds: 3 },
  ],
  claims: [
    { id: 'full-over-masked', text: 'Training the summaries raises success with compaction.', paper: '+2.3 points on SWE-bench (106B)', left: { arm: 'full', outcome: 'comp' }, right: { arm: 'masked', outcome: 'comp' } },
    { id: 'full-over-uncorrected', text: 'The correction across segments raises success.', paper: '+3.8 points on SWE-bench (106B)', left: { arm: 'full', outcome: 'comp' }, right: { arm: 'uncorrected', outcome: 'comp' } },
    { id: 'longer-summaries', text: 'Trained summaries are longer than masked ones.', left: { arm: 'full', outcome: 'summaryTokens' }, right: { arm: 'masked', outcome: 'summaryTokens' } },
  ],
}; // biome-ignore format: a table

const wave = (seed: number, k: number) => Math.sin(seed * 12.9898 + k * 78.233);
const level: Readonly<Record<string, number>> = {
  base: 0.14,
  full: 0.92,
  masked: 0.7,
  uncorrected: 0.918,
  'last-only': 0.4,
};

function evaluation(success: number, seed: number, tokens: number): EvalSummary {
  const share = (k: number) =>
    Math.round(256 * Math.max(0, Math.min(1, success - 0.02 * (k - 1.5) + 0.01 * wave(seed, k))));
  const byCompactions = [0, 1, 2, 3].map((k) => ({ solved: share(k), episodes: 256 }));
  const solved = byCompactions.reduce((sum, bucket) => sum + bucket.solved, 0);
  return {
    success: solved / 1024,
    episodes: 1024,
    byCompactions,
    successNeedingCompaction: (solved - byCompactions[0]!.solved) / 768,
    meanTurns: 8 - 2 * success,
    meanCompactions: 3 - success,
    meanSummaryTokens: tokens,
    factRecall: Math.min(1, 0.5 + 0.5 * success),
  };
}

function curve(end: number, seed: number): Curve {
  const iterations = Array.from({ length: 12 }, (_, i) => i);
  const success = iterations.map((i) =>
    Math.max(0, Math.min(1, 0.14 + (end - 0.14) / (1 + Math.exp(4 - i)) + 0.05 * wave(seed, i))),
  );
  return {
    envTokens: iterations.map((i) => Math.round((i + 1) * (30_000 + 400 * wave(seed, 50)))),
    trainSuccess: success,
    factRecall: success.map((s, i) => (i === 0 ? null : Math.min(1, 0.5 + 0.5 * s))),
    summaryTokens: success.map((s) => 6 + 3 * s),
    compactions: success.map((s) => 3 - s),
    turns: success.map((s) => 8 - 2 * s),
  };
}

/** One cell; `shift` moves its success. */
export function fakeCell(setup: string, arm: string, seed: number, shift = 0): CellResult {
  const spread = arm === 'base' ? 0 : 0.03 * wave(seed, 1) + 0.003 * wave(seed, arm.length);
  // Summaries matter less in the second setup, and not with every seed.
  const masked = setup === 'code-small' && arm === 'masked' ? 0.19 + 0.06 * wave(seed, 4) : 0;
  const success = level[arm]! + masked + spread + shift;
  const training = arm === 'base' ? null : curve(success, seed);
  return {
    version: 1,
    setup,
    arm,
    seed,
    hash: 'b5d1c0ffee'.padEnd(16, '0'),
    config: { ...fakeExperiment.arms.find(({ id }) => id === arm)!.config, warmStart: 1 + ((seed - 1) % 3) },
    command: 'lab experiment public/experiments/sample.json',
    adapter: 'mesa software llvmpipe',
    build: '0.1.0+test',
    createdAt: '2026-11-29T16:20:00.000Z',
    elapsedMs: 61_000,
    iterations: arm === 'base' ? 0 : 12,
    envTokens: training?.envTokens.at(-1) ?? 0,
    evaluation: {
      comp: evaluation(success, seed, arm === 'masked' ? 6.1 + 0.1 * wave(seed, 9) : 8.9 + 0.1 * wave(seed, 8)),
      single: evaluation(0.2 + 0.1 * spread, seed, 0),
      long: evaluation(0.4 + spread, seed, 0),
    },
    curve: training,
    alarms: {},
  };
}

/** All cells but one: `uncorrected` of the second setup has no sixth seed. */
export const fakeResults: ExperimentResults = {
  version: 1,
  experiment: fakeExperiment,
  cells: fakeExperiment.setups.flatMap((setup) =>
    fakeExperiment.arms
      .filter((arm) => arm.setups?.includes(setup.id) ?? true)
      .flatMap((arm) => Array.from({ length: arm.seeds ?? 6 }, (_, i) => fakeCell(setup.id, arm.id, i + 1)))
      .filter((cell) => !(cell.setup === 'code-small' && cell.arm === 'uncorrected' && cell.seed === 6)),
  ),
};
