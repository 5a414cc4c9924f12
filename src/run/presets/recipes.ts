/**
 * How each shipped base policy was warm-started: behaviour cloning on scripted demonstrations with lossy summaries.
 * `lab pretrain <name>` reproduces the file.
 */
import type { PartialConfig } from '../../core/config/config';
import { suiteContext, tinyContext } from './presets';

export interface Recipe {
  readonly title: string;
  /** Tasks, context rules and model; the window is the normal one, demonstrations also use twice that. */
  readonly config: PartialConfig;
  /** Optimiser steps. */
  readonly steps: number;
  /** Demonstrations per step. */
  readonly demonstrations: number;
  /** Demonstrations played once and then drawn from, pass by pass; left out: new ones at every step. */
  readonly corpus?: number;
  /** Facts stand in the tracker's order; left out: in random order, which takes longer to learn where facts are many. */
  readonly ordered?: boolean;
  /** Adam peak rate; warm-up over 30 steps, decay to 5 % over the last 30 %. */
  readonly learningRate: number;
  /** Probability that a summary keeps a fact. */
  readonly keep: number;
  /** Most junk words added to a summary. */
  readonly junkMax: number;
  /** Under `trigger = learned`, probability that the expert compacts before an action where that is allowed; left out: 0. */
  readonly compactShare?: number;
  /** Share of demonstrations played in twice the window, so that its positions are trained. */
  readonly wideShare: number;
  /** Copy-friendly initialisation, see model/initialise. */
  readonly copyInit: 0 | 1 | 2;
}

/** Both suites, both sizes: the bases of the shipped experiments. */
const suiteRecipe = {
  steps: 2000,
  demonstrations: 16,
  corpus: 4096,
  ordered: true,
  learningRate: 0.003,
  keep: 0.6,
  junkMax: 0,
  wideShare: 0.15,
  copyInit: 2,
} as const;
const small = { ...suiteContext, layers: 2 } as const;
const large = { ...suiteContext, layers: 2, dModel: 64, mlp: 128 } as const;

export const recipes = {
  'chain-small': {
    title: 'Chain, concise summaries',
    config: { ...tinyContext, window: 64 },
    steps: 600,
    demonstrations: 16,
    learningRate: 0.003,
    keep: 0.55,
    junkMax: 0,
    wideShare: 0.15,
    copyInit: 2,
  },
  'chain-verbose': {
    title: 'Chain, rambling summaries',
    config: { ...tinyContext, window: 76, summaryCap: 20 },
    steps: 600,
    demonstrations: 16,
    learningRate: 0.003,
    keep: 0.75,
    junkMax: 8,
    wideShare: 0.15,
    copyInit: 2,
  },
  'terminal-small': {
    ...suiteRecipe,
    title: 'Terminal suite, small policy',
    config: { ...small, suite: 'terminal' },
  },
  'code-small': { ...suiteRecipe, title: 'Code suite, small policy', config: { ...small, suite: 'code' } },
  'code-trigger': {
    ...suiteRecipe,
    title: 'Code suite, small policy that knows how to compact',
    config: { ...small, suite: 'code', trigger: 'learned' },
    compactShare: 0.1,
  },
  'terminal-large': {
    ...suiteRecipe,
    title: 'Terminal suite, larger policy',
    config: { ...large, suite: 'terminal' },
  },
  'code-large': { ...suiteRecipe, title: 'Code suite, larger policy', config: { ...large, suite: 'code' } },
} as const satisfies Record<string, Recipe>;

export type RecipeName = keyof typeof recipes;
