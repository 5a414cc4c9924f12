/** How long a run still takes, from how long its iterations took. */
import type { RunConfig } from '../../core/config/config';
import { mean } from '../../core/metrics/metrics';
import { trainingProgress } from '../learn/learn';

/** Iterations that predict the next: rollouts get shorter as the policy learns. */
const RECENT = 8;

/** Iterations the whole run is expected to have: those of the configuration, or fewer where a token budget ends it. */
export function expectedIterations(config: RunConfig, iteration: number, envTokens: number): number {
  if (config.envTokenBudget === 0 || iteration === 0) return config.iterations;
  return Math.min(
    config.iterations,
    Math.max(iteration, Math.round(iteration / trainingProgress(config, iteration, envTokens))),
  );
}

export class IterationClock {
  private readonly tookMs: number[] = [];
  /** @param since the start of the iteration in hand, ms */
  constructor(private since: number) {}

  /** An iteration ended. */
  lap(startedAt: number, now: number): void {
    this.tookMs.push(now - startedAt);
    this.since = now;
  }

  /** @returns ms until `iterations` are done; null before the first one is */
  remaining(iteration: number, iterations: number, now: number): number | null {
    const each = mean(this.tookMs.slice(-RECENT));
    return each === null ? null : Math.max(0, each * (iterations - iteration) - (now - this.since));
  }
}
