/** A small experiment with every kind of arm, and a result of one of its cells. */
import type { CellResult, Experiment } from '../../src/core/experiment/experiment';
import type { EvalSummary } from '../../src/core/metrics/records';

export const sampleExperiment: Experiment = {
  version: 1,
  id: 'sample',
  title: 'Sample',
  about: '',
  seeds: 3,
  warmStarts: 1,
  shared: { iterations: 2, finalEvalEpisodes: 8, kernels: 'default' },
  setups: [
    { id: 'small', title: 'Small', config: {} },
    { id: 'large', title: 'Large', config: { mlp: 128 } },
  ],
  arms: [
    { id: 'full', title: 'Full', isolates: 'Nothing.', config: {} },
    { id: 'masked', title: 'Masked', isolates: 'The summary loss.', config: { trainSummary: 'masked' } },
    { id: 'base-policy', title: 'Base', isolates: 'Training.', config: {}, policy: 'base' },
    { id: 'swap', title: 'Swap', isolates: 'The writer.', config: {}, policy: 'full', writer: 'writer' },
    { id: 'writer', title: 'Writer', isolates: 'The entropy bonus.', config: { entropyCoef: 0.01 } },
    { id: 'few', title: 'Few seeds', isolates: 'Nothing.', config: {}, seeds: 2 },
  ],
  claims: [
    {
      id: 'trained',
      text: 'Training helps.',
      left: { arm: 'full', outcome: 'comp' },
      right: { arm: 'base-policy', outcome: 'comp' },
    },
  ],
};

/** Half of the tasks require a compaction; the others are solved first. */
const summary = (solved: number, episodes: number): EvalSummary => {
  const half = episodes / 2;
  const rest = Math.max(0, solved - half);
  return {
    success: solved / episodes,
    episodes,
    byCompactions: [
      { solved: solved - rest, episodes: half },
      { solved: rest, episodes: half },
    ],
    successNeedingCompaction: rest / half,
    meanTurns: 3.5,
    meanCompactions: 0.5,
    meanSummaryTokens: 6,
    factRecall: null,
  };
};

/** @param comp success with compaction, a multiple of 1/episodes @param episodes a multiple of 8 */
export const sampleEvaluation = (comp: number, episodes = 1000): CellResult['evaluation'] => ({
  comp: summary(Math.round(comp * episodes), episodes),
  single: summary(episodes / 2, episodes),
  long: summary((5 * episodes) / 8, episodes),
});

export const sampleResult: CellResult = {
  version: 1,
  setup: 'small',
  arm: 'full',
  seed: 1,
  hash: '0123456789abcdef',
  config: { iterations: 2, finalEvalEpisodes: 8, kernels: 'default' },
  command: 'lab experiment sample.json --setups small --arms full --seeds 1',
  adapter: 'none',
  build: 'test',
  createdAt: '2026-01-02T03:04:05.678Z',
  elapsedMs: 1000,
  iterations: 2,
  envTokens: 2000,
  evaluation: sampleEvaluation(0.75, 8),
  curve: {
    envTokens: [1000, 2000],
    trainSuccess: [0.5, 0.625],
    factRecall: [0.5, null],
    summaryTokens: [6, null],
    compactions: [0.5, 0],
    turns: [3, 4],
  },
  alarms: { 'kl-limit': 1 },
};
