/** Repeated measurement: alternating rounds, and batches long enough that submission does not show. */

import { LabError } from '../../core/errors';
import type { Spread } from '../../core/protocol/bench';

export type { Spread } from '../../core/protocol/bench';

/** @param samples finite numbers, at least one @throws `measure.samples` */
export function spreadOf(samples: readonly number[]): Spread {
  if (samples.length === 0 || !samples.every(Number.isFinite))
    throw new LabError({
      code: 'measure.samples',
      what: 'A measurement is missing or no number',
      expected: 'at least one finite number',
      got: samples.length === 0 ? 'none' : samples.join(', '),
    });
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted[sorted.length - 1]!, samples: sorted.length };
}

/** Applies `f` to each number of a spread. A falling `f` (time → rate) exchanges the ends. */
export function mapSpread(spread: Spread, f: (value: number) => number): Spread {
  const [a, b] = [f(spread.min), f(spread.max)];
  return { median: f(spread.median), min: Math.min(a, b), max: Math.max(a, b), samples: spread.samples };
}

/** Elapsed time of one call, ms. */
export async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/**
 * Measures contestants in turn — a, b, c, a, b, c … — so that a drift of the machine (heat, other programs) meets all of
 * them alike. One uncounted round goes first: it compiles shaders and fills caches.
 * @param contestants each does its work once and ends when the work is done, not when it is queued
 * @param rounds counted rounds, ≥ 1
 * @param onTurn called after each measurement, uncounted ones too; what it throws ends the measurement
 * @returns ms per call
 */
export async function alternate<Name extends string>(
  contestants: Readonly<Record<Name, () => Promise<unknown>>>,
  rounds: number,
  onTurn: (name: Name) => void = () => {},
): Promise<Record<Name, Spread>> {
  const names = Object.keys(contestants) as Name[];
  const samples = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++)
    for (const name of names) {
      const ms = await elapsedMs(contestants[name]);
      if (round >= 0) samples.get(name)!.push(ms);
      onTurn(name);
    }
  return Object.fromEntries(names.map((name) => [name, spreadOf(samples.get(name)!)])) as Record<Name, Spread>;
}

/**
 * How often to repeat a short piece of work so that one batch takes at least `batchMs`; runs it meanwhile, and so warms
 * it up.
 * @param runBatch does the work `count` times and ends when it is done
 */
export async function batchSize(runBatch: (count: number) => Promise<unknown>, batchMs: number): Promise<number> {
  await runBatch(1);
  for (let count = 1; ; ) {
    const ms = await elapsedMs(() => runBatch(count));
    if (ms >= batchMs) return count;
    count = Math.max(count + 1, Math.ceil(count * Math.min(10, (1.2 * batchMs) / Math.max(ms, 0.01))));
  }
}
