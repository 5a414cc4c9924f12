/** Evaluation on held-out tasks: temperature 1, full softmax, the same tasks and draws each time. */
import type { RunConfig } from '../core/config';
import { evalSummary } from '../core/metrics';
import type { EvalSummary } from '../core/protocol';
import type { Rollout } from '../core/trajectory';
import type { TerminalPool } from '../env/pool';
import type { PolicyEngine } from '../model/engine';
import { requiredCompactions, setupOf } from './expert';
import { type Gate, rollOut } from './rollout';
import { drawTasks } from './tasks';

export interface EvaluateOptions {
  readonly engine: PolicyEngine;
  readonly pool: TerminalPool;
  readonly config: RunConfig;
  readonly seed: number;
  readonly episodes: number;
  readonly gate: Gate;
  /** Compactions required by task index, kept between evaluations. */
  readonly required?: Map<number, number> | undefined;
  readonly onProgress?: ((share: number) => void) | undefined;
}

/** How an evaluation treats the context: compaction on, or a single window. */
export type EvalMode = 'comp' | 'single';

/** Most episodes in flight; the next begins when one ends. Bounds memory; results do not depend on it. */
const SEATS = 256;

/** Configuration of an evaluation mode. */
export function evalConfig(config: RunConfig, mode: EvalMode): RunConfig {
  return { ...config, compaction: mode === 'comp' ? 'summary' : 'none' };
}

/**
 * Rolls out the policy on held-out tasks 0 … episodes − 1 of the seed.
 * @returns all rollouts, in task order
 */
export async function evaluateRollouts(mode: EvalMode, options: EvaluateOptions): Promise<Rollout[]> {
  const { engine, pool, seed, episodes, gate, onProgress } = options;
  const config = evalConfig(options.config, mode);
  const summaryRole = mode === 'comp' && config.trainSummary === 'frozen' ? 'writer' : 'policy';
  const tasks = drawTasks(config, seed, 'eval', 0, episodes);
  const required = await requiredCompactions(tasks, config, pool, gate, options.required);
  const setups = tasks.map((task, i) => setupOf(task, i, config, required[i]!));
  const observe = onProgress ? () => onProgress : undefined;
  const how = { engine, pool, config, seed, summaryRole, gate, observe, seats: SEATS } as const;
  return rollOut(setups, { ...how, purpose: 'evalSample' });
}

/** Success of the current policy in one mode. */
export async function evaluate(mode: EvalMode, options: EvaluateOptions): Promise<EvalSummary> {
  return evalSummary(await evaluateRollouts(mode, options));
}
