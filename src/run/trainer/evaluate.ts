/** Evaluation on held-out tasks: temperature 1, full softmax, the same tasks and draws each time. */
import type { RunConfig } from '../../core/config/config';
import type { EvalMode } from '../../core/experiment/experiment';
import { evalSummary } from '../../core/metrics/metrics';
import type { EvalSummary } from '../../core/metrics/records';
import type { Rollout } from '../../core/trajectory/trajectory';
import type { TerminalPool } from '../../env/pool';
import type { PolicyEngine } from '../../model/engine';
import { requiredCompactions, setupOf } from '../expert/expert';
import { writesNotes } from '../rollout/retry';
import { type Gate, type RolloutOptions, rollOut } from '../rollout/rollout';
import { drawTasks } from '../rollout/tasks';

export interface EvaluateOptions {
  readonly engine: PolicyEngine;
  readonly pool: TerminalPool;
  readonly config: RunConfig;
  readonly seed: number;
  readonly episodes: number;
  readonly gate: Gate;
  /** Compactions required by task index, kept between evaluations. */
  readonly required?: Map<number, number> | undefined;
  /** Who writes summaries; left out: the frozen writer where the configuration has one, else the policy. */
  readonly summaryRole?: RolloutOptions['summaryRole'] | undefined;
  readonly onProgress?: ((share: number) => void) | undefined;
}

/** Most episodes in flight; the next begins when one ends. Bounds memory; results do not depend on it. */
const SEATS = 256;

/** The configuration of training rollouts: their window may be larger than that of evaluations. */
export function trainingConfig(config: RunConfig): RunConfig {
  return { ...config, window: config.trainWindowScale * config.window };
}

/** What a mode is called in progress messages. */
export const evalNames: Readonly<Record<EvalMode, string>> = {
  comp: 'compaction on',
  single: 'compaction off',
  long: 'twice the window',
};

/** Configuration of an evaluation mode. With compaction on, an arm that trained without any writes summaries. */
export function evalConfig(config: RunConfig, mode: EvalMode): RunConfig {
  if (mode === 'comp') return config.compaction === 'none' ? { ...config, compaction: 'summary' } : config;
  return { ...config, compaction: 'none', window: mode === 'long' ? 2 * config.window : config.window };
}

/**
 * Rolls out the policy on held-out tasks 0 … episodes − 1 of the seed.
 * @returns all rollouts, in task order
 */
export async function evaluateRollouts(mode: EvalMode, options: EvaluateOptions): Promise<Rollout[]> {
  const { engine, pool, seed, episodes, gate, onProgress } = options;
  const config = evalConfig(options.config, mode);
  const summaryRole = options.summaryRole ?? (config.trainSummary === 'frozen' ? 'writer' : 'policy');
  const tasks = drawTasks(config, seed, 'eval', 0, episodes);
  // A property of the task in the normal window, also where twice that is given.
  const required = await requiredCompactions(tasks, options.config, pool, gate, options.required);
  const setups = tasks.map((task, i) => setupOf(task, i, config, required[i]!));
  const observe = onProgress ? () => onProgress : undefined;
  // Notes between attempts are written in every mode.
  const role = mode === 'comp' || writesNotes(config) ? summaryRole : 'policy';
  const how = { engine, pool, config, seed, summaryRole: role, gate, observe, seats: SEATS } as const;
  return rollOut(setups, { ...how, purpose: 'evalSample' });
}

/** Success of the current policy in one mode. */
export async function evaluate(mode: EvalMode, options: EvaluateOptions): Promise<EvalSummary> {
  return evalSummary(await evaluateRollouts(mode, options));
}
