/** Named configurations. Each says what it shows; everything not listed has the table's default. */
import type { PartialConfig } from '../../core/config/config';

export interface Preset {
  readonly title: string;
  /** What a visitor sees when it runs, in a sentence or two. */
  readonly shows: string;
  readonly config: PartialConfig;
}

/** Context rules of all small chains: a tiny window cannot hold two verbatim steps (docs/algorithm.md section 1). */
export const tinyContext = {
  suite: 'chain',
  difficultyMin: 1,
  difficultyMax: 8,
  keepTask: true,
  tailSteps: 0,
  maxCompactions: 16,
  actionCap: 8,
  observationCap: 14,
  summaryCap: 10,
} as const satisfies PartialConfig;

/** Context rules that hold every family at every difficulty: answers and summaries are longer than chain's (docs/tasks.md). */
export const suiteContext = {
  ...tinyContext,
  window: 96,
  actionCap: 12,
  summaryCap: 20,
} as const satisfies PartialConfig;

/** What all learning presets share. */
const tiny = {
  ...tinyContext,
  lambdaScope: 'fixed',
  lambda: 0.98,
  advantageScale: 'rms',
  critic: 'shared',
  valueCoef: 0.1,
  entropyCoef: 0.001,
  learningRate: 0.002,
  epochs: 1,
} as const satisfies PartialConfig;

/** The values of public/experiments/paper-table.json with a learning curve: arm CompactionRL, small policy. */
const table = {
  ...tiny,
  ...suiteContext,
  layers: 2,
  learningRate: 0.001,
  episodes: 128,
  minibatches: 4,
  iterations: 80,
  envTokenBudget: 320_000,
  evalEvery: 10,
} as const satisfies PartialConfig;

export const presets = {
  smoke: {
    title: 'Smoke test',
    shows: 'Two iterations of eight episodes: every phase runs once, nothing is learned. For checking a machine.',
    config: {
      ...tiny,
      difficultyMax: 4,
      episodes: 8,
      iterations: 2,
      evalEvery: 1,
      evalEpisodes: 8,
      finalEvalEpisodes: 16,
    },
  },
  quick: {
    title: 'Quick',
    shows:
      'A small transformer learns to follow a chain of files up to five windows long. Success rises as its summaries stop losing facts.',
    config: { ...tiny, episodes: 128, iterations: 50, minibatches: 4, evalEvery: 5 },
  },
  'verbose-chain': {
    title: 'Verbose chain',
    shows:
      'The base policy rambles in its summaries. Success rises as they come to hold the facts; the junk words cost nothing, and stay.',
    config: {
      ...tiny,
      base: 'chain-verbose',
      window: 76,
      summaryCap: 20,
      episodes: 256,
      iterations: 100,
      minibatches: 4,
      evalEvery: 10,
    },
  },
  'many-compactions': {
    title: 'Many compactions',
    shows:
      'A window so small that every file costs a compaction, up to eight in an episode: one fact lost in any of them usually loses the episode.',
    config: {
      ...tiny,
      window: 48,
      summaryCap: 8,
      episodes: 256,
      iterations: 50,
      minibatches: 4,
      evalEvery: 5,
    },
  },
  'terminal-suite': {
    title: 'Terminal suite',
    shows:
      'Chains of files, and values to collect from several: the terminal suite of the results, one run of CompactionRL.',
    config: { ...table, suite: 'terminal', base: 'terminal-small' },
  },
  'code-suite': {
    title: 'Code suite',
    shows: 'Files to build and to repair until a test passes: the code suite of the results, one run of CompactionRL.',
    config: { ...table, suite: 'code', base: 'code-small' },
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof presets;

/** Whether a string names a preset. */
export function isPreset(name: string): name is PresetName {
  return Object.hasOwn(presets, name);
}
