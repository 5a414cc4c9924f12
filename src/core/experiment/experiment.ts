/**
 * An experiment: arms × setups × seeds, and what comes out of one of them. Plain JSON; everything here travels in files,
 * links and messages.
 */

import type { PartialConfig } from '../config/config';
import type { KernelPlan } from '../kernels';
import type { EvalSummary } from '../metrics/records';
import type { ShellVersion } from '../shell-version';

/**
 * How an evaluation treats the context: compaction off (one window), on as the arm does it, or off in twice the window; in
 * the order of the paper's columns.
 */
export const evalModes = ['single', 'comp', 'long'] as const;
export type EvalMode = (typeof evalModes)[number];

/** A task suite with a policy size: one block of columns of the table. */
export interface Setup {
  readonly id: string;
  readonly title: string;
  readonly config: PartialConfig;
  /** Its number of seeds, when fewer than the experiment's: a larger policy costs more. */
  readonly seeds?: number;
}

/**
 * Where an arm's weights come from. `train`: PPO from the setup's base. `base`: the base itself, no training. An arm's id:
 * that arm's final policy of the same setup and seed, evaluated under this arm's configuration.
 */
export type PolicySource = 'train' | 'base' | (string & {});

/** One way to do it. Only `config` differs between trained arms. */
export interface Arm {
  readonly id: string;
  readonly title: string;
  /** One sentence: what the comparison with the reference arm isolates. */
  readonly isolates: string;
  readonly config: PartialConfig;
  /** Default `train`. */
  readonly policy?: PolicySource;
  /** Who writes summaries in evaluations: `base` or an arm's id. Left out: the policy itself. */
  readonly writer?: PolicySource;
  /** Setups it runs in; left out: all. */
  readonly setups?: readonly string[];
  /** Its number of seeds, when fewer than the experiment's. */
  readonly seeds?: number;
}

/** One number of an arm. `comp`, `single`, `long`: share of held-out episodes solved. The others are of the `comp` evaluation. */
export type Outcome = EvalMode | 'summaryTokens' | 'compactions' | 'turns' | 'factRecall';

/** A statement or a question that the experiment decides: `left` is larger than `right`. */
export interface Claim {
  readonly id: string;
  /** The statement in words, in the direction of the paper; or the question, to which it would be yes. */
  readonly text: string;
  /** Whether the paper claims it, or we ask; left out (older files): `paper` where it is quoted. */
  readonly kind?: 'paper' | 'question';
  /** What the paper reports for it, in its own numbers; left out where the paper is silent. */
  readonly paper?: string;
  readonly left: { readonly arm: string; readonly outcome: Outcome };
  readonly right: { readonly arm: string; readonly outcome: Outcome };
  /** Setups it is decided in; left out: all that have both arms. */
  readonly setups?: readonly string[];
}

/** An experiment file. Seeds are 1 … `seeds`; seed s starts from warm start 1 + (s − 1) mod `warmStarts`. */
export interface Experiment {
  readonly version: 1;
  /** Short, kebab-case: the name of folders and files. */
  readonly id: string;
  readonly title: string;
  /** What is asked, and the tuning budget that every arm got; shown above the table. */
  readonly about: string;
  readonly seeds: number;
  readonly warmStarts: number;
  /** Settings of every arm. */
  readonly shared: PartialConfig;
  readonly setups: readonly Setup[];
  readonly arms: readonly Arm[];
  readonly claims: readonly Claim[];
}

/** Training curve of a trained cell, one entry an iteration. */
export interface Curve {
  readonly envTokens: readonly number[];
  readonly trainSuccess: readonly number[];
  readonly factRecall: readonly (number | null)[];
  readonly summaryTokens: readonly (number | null)[];
  readonly compactions: readonly number[];
  readonly turns: readonly number[];
}

/** One arm of one setup with one seed: a file of its own while the experiment runs. */
export interface CellResult {
  readonly version: 1;
  readonly setup: string;
  readonly arm: string;
  readonly seed: number;
  /** Of everything that decides the numbers, see cell.ts; another configuration has another hash. */
  readonly hash: string;
  /** Keys that differ from the table's defaults. */
  readonly config: PartialConfig;
  readonly command: string;
  readonly adapter: string;
  /** Absent with engines that have none. */
  readonly kernels?: KernelPlan;
  /** Version of the terminal; absent: 1. */
  readonly shell?: ShellVersion;
  /** Version and commit. */
  readonly build: string;
  /** Of the parameters of the base it began from, 16 hexadecimal digits: `hash` does not cover what is in that file. */
  readonly base?: string;
  /** ISO 8601; a time field, as is elapsedMs: they alone may differ between equal runs. */
  readonly createdAt: string;
  readonly elapsedMs: number;
  /** Iterations trained, 0 for an arm without training. */
  readonly iterations: number;
  readonly envTokens: number;
  readonly evaluation: Readonly<Record<EvalMode, EvalSummary>>;
  readonly curve: Curve | null;
  /** Alarm codes that came up, with how often. */
  readonly alarms: Readonly<Record<string, number>>;
}

/** What `lab collect` makes of a folder of cells, and what the page reads. Cells sorted by setup, arm and seed. */
export interface ExperimentResults {
  readonly version: 1;
  readonly experiment: Experiment;
  readonly cells: readonly CellResult[];
}
