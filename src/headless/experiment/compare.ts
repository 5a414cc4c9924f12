/** Whether a cell that was run again agrees with what was recorded. */
import { evalModes } from '../../core/experiment/paper';
import type { CellResult } from '../../core/experiment/types';
import { sameKernels } from '../../core/kernels';
import { predictionInterval } from '../../core/statistics/intervals';

/** Fields that say where and when, not what came out. */
const provenance: ReadonlySet<string> = new Set(['command', 'createdAt', 'elapsedMs', 'build', 'adapter', 'kernels']);

/** Whether equal bits can be demanded: the same program on the same adapter with the same kernels. */
function sameMachine(a: CellResult, b: CellResult): boolean {
  return a.build === b.build && a.adapter === b.adapter && sameKernels(a.kernels, b.kernels);
}

/** One number that is not as recorded. */
interface Difference {
  /** E.g. `evaluation.comp.success`. */
  readonly path: string;
  readonly recorded: unknown;
  readonly got: unknown;
}

/** Every value that differs, provenance aside. */
function differences(recorded: CellResult, got: CellResult): Difference[] {
  const keys = Object.keys({ ...recorded, ...got }).filter((key) => !provenance.has(key)) as (keyof CellResult)[];
  return keys.flatMap((key) => within(key, recorded[key], got[key]));
}

function within(path: string, recorded: unknown, got: unknown): Difference[] {
  const both = [recorded, got];
  if (both.every((value) => typeof value === 'object' && value !== null)) {
    const [a, b] = both as [Record<string, unknown>, Record<string, unknown>];
    return Object.keys({ ...a, ...b }).flatMap((key) => within(`${path}.${key}`, a[key], b[key]));
  }
  return Object.is(recorded, got) ? [] : [{ path, recorded, got }];
}

/** Chance that a sample of cells that differ from the recorded seeds only as other seeds do is said to be outside. */
const FALSE_ALARMS = 0.05;

/** What running a cell again showed. */
export interface Comparison {
  readonly ok: boolean;
  /**
   * `identical`: every number. `different`: same machine, and yet not identical. Elsewhere: `inside` the prediction
   * intervals of the recorded seeds, `outside` of one, or `unjudged`, as fewer than two seeds say nothing of the spread.
   */
  readonly verdict: 'identical' | 'different' | 'inside' | 'outside' | 'unjudged';
  /** The numbers at fault, one sentence each. */
  readonly faults: readonly string[];
}

/**
 * @param all all recorded cells; those of the same setup and arm give the spread between seeds
 * @param cells how many cells the sample has: intervals hold every success of all of them at once with 95 % (Bonferroni)
 */
export function compare(recorded: CellResult, got: CellResult, all: readonly CellResult[], cells: number): Comparison {
  const found = differences(recorded, got);
  if (found.length === 0) return { ok: true, verdict: 'identical', faults: [] };
  const say = (value: unknown) => JSON.stringify(value) ?? 'nothing';
  if (sameMachine(recorded, got)) {
    const faults = found.map(
      ({ path, recorded: before, got: now }) => `${path}: recorded ${say(before)}, got ${say(now)}`,
    );
    return { ok: false, verdict: 'different', faults };
  }
  const seeds = all.filter(({ setup, arm }) => setup === recorded.setup && arm === recorded.arm);
  if (seeds.length < 2)
    return {
      ok: false,
      verdict: 'unjudged',
      faults: ['another machine, and only one recorded seed: no spread to judge by'],
    };
  const faults = evalModes.flatMap((mode) => {
    const interval = predictionInterval(
      seeds.map(({ evaluation }) => evaluation[mode].success),
      1 - FALSE_ALARMS / (evalModes.length * cells),
    )!; // of two seeds or more
    const value = got.evaluation[mode].success;
    if (value >= interval.low && value <= interval.high) return [];
    return [
      `evaluation.${mode}.success: ${value} is outside the prediction interval ${interval.low} to ${interval.high}`,
    ];
  });
  return { ok: faults.length === 0, verdict: faults.length === 0 ? 'inside' : 'outside', faults };
}
