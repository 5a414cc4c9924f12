/** Whether a cell that was run again agrees with what was recorded. */

import { type CellResult, type EvalMode, evalModes } from '../../core/experiment/experiment';
import { sameKernels } from '../../core/kernels';
import { type Interval, predictionInterval } from '../../core/statistics/intervals';

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

/** Half of the widest interval that tells anything: a success may lie anywhere within 25 points of its centre. */
const WIDEST_HALF = 0.25;

/** Successes are kept with six digits, so equal seeds may be off the ends of their interval by as much. */
const ROUNDING = 1e-6;

/** What can be said of one success across machines. Intervals are null of fewer than two seeds. */
export interface SuccessCheck {
  readonly mode: EvalMode;
  readonly recorded: number;
  readonly got: number;
  /** Where the recorded value is to lie: the prediction interval of the other recorded seeds, itself left out. */
  readonly ofOthers: Interval | null;
  /** Where the rerun's value is to lie: the prediction interval of all recorded seeds. */
  readonly ofAll: Interval | null;
}

/** What running a cell again showed. */
export interface Comparison {
  /** Null where it cannot be told. */
  readonly ok: boolean | null;
  /**
   * `identical`: every number. `different`: same machine, and yet not identical. Elsewhere: `outside` where a success lies
   * outside its interval; else `undecided` where an interval is wider than ±25 points, or there are too few seeds for one;
   * else `inside`.
   */
  readonly verdict: 'identical' | 'different' | 'inside' | 'outside' | 'undecided';
  /** The numbers at fault, one sentence each. */
  readonly faults: readonly string[];
  /** What was judged where equal bits cannot be demanded. */
  readonly successes?: readonly SuccessCheck[];
}

const holds = ({ low, high }: Interval, value: number) => value >= low - ROUNDING && value <= high + ROUNDING;

/** Whether an interval is too wide to tell, or not there. */
const isOpen = (interval: Interval | null) => interval === null || interval.high - interval.low > 2 * WIDEST_HALF;

/** An interval as messages show it. */
export const rangeText = (interval: Interval | null) =>
  interval === null ? 'no interval' : `${interval.low.toFixed(3)} to ${interval.high.toFixed(3)}`;

function faultsOf({ mode, recorded, got, ofOthers, ofAll }: SuccessCheck): string[] {
  const judge = (value: number, name: string, interval: Interval | null, seeds: string) =>
    interval === null || holds(interval, value)
      ? []
      : [
          `evaluation.${mode}.success: ${name} ${value} is outside the prediction interval ${rangeText(interval)} of ${seeds}`,
        ];
  return [
    ...judge(recorded, 'the recorded', ofOthers, 'the other recorded seeds'),
    ...judge(got, 'the new', ofAll, 'the recorded seeds'),
  ];
}

/**
 * @param all all recorded cells; those of the same setup and arm give the spread between seeds
 * @param cells how many cells the sample has: intervals hold every success of all of them, recorded and new, at once with
 *   95 % (Bonferroni)
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
  const others = seeds.filter(({ seed }) => seed !== recorded.seed);
  const level = 1 - FALSE_ALARMS / (2 * evalModes.length * cells);
  const successes = evalModes.map((mode): SuccessCheck => {
    const success = ({ evaluation }: CellResult) => evaluation[mode].success;
    return {
      mode,
      recorded: success(recorded),
      got: success(got),
      ofOthers: predictionInterval(others.map(success), level),
      ofAll: predictionInterval(seeds.map(success), level),
    };
  });
  const faults = successes.flatMap(faultsOf);
  if (faults.length > 0) return { ok: false, verdict: 'outside', faults, successes };
  const open = successes.some(({ ofOthers, ofAll }) => isOpen(ofOthers) || isOpen(ofAll));
  return open
    ? { ok: null, verdict: 'undecided', faults, successes }
    : { ok: true, verdict: 'inside', faults, successes };
}
