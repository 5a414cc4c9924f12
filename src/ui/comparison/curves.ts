/** What the comparison's figure draws: every seed of an arm as a line, their mean and its interval on a common grid. */

import type { CellResult, Curve } from '../../core/experiment/experiment';
import type { SeedValue } from '../../core/experiment/verdicts';
import { metricHelp } from '../../core/metrics/metrics';
import type { Interval } from '../../core/statistics/intervals';
import { compact, percent } from '../format';

/** Points of the common grid; a curve has some tens of iterations. */
const GRID = 41;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** One seed of an arm. */
export interface SeedLine {
  readonly seed: number;
  readonly points: readonly Point[];
}

/** The seeds at one place: null ends where fewer than two of them reach it. */
export interface BandPoint {
  readonly x: number;
  readonly mean: number;
  readonly low: number | null;
  readonly high: number | null;
  /** Seeds that have a value here. */
  readonly n: number;
}

/** Mean and 95 % interval over seeds, as the tables have them; null where they cannot be had. */
export interface Summary {
  mean(values: readonly SeedValue[]): number | null;
  interval(values: readonly SeedValue[]): Interval | null;
}

type CurveValue = Exclude<keyof Curve, 'envTokens'>;

/** Something that is drawn over env tokens, or over the number of compactions a task requires. */
export interface Quantity {
  readonly id: CurveValue | 'byCompactions';
  readonly title: string;
  readonly unit: string;
  readonly definition: string;
  readonly axis: string;
  /** A share: the vertical axis goes from 0 to 1. */
  readonly share: boolean;
}

const overTokens = (id: CurveValue, title: string, unit: string, share = false): Quantity => ({
  id,
  title,
  unit,
  definition: metricHelp[id],
  axis: 'env tokens',
  share,
});

export const quantities: readonly Quantity[] = [
  overTokens('trainSuccess', 'Training success', 'share of training episodes', true),
  {
    id: 'byCompactions',
    title: 'Success by compactions required',
    unit: 'share of held-out episodes, compaction on',
    definition:
      'Final policy, held-out tasks. 0: the scripted expert solves the task inside one window. 1, 2, …: with perfect summaries it goes through that many compactions.',
    axis: 'compactions required',
    share: true,
  },
  overTokens('factRecall', 'Facts kept', 'share of needed facts', true),
  overTokens('summaryTokens', 'Summary length', 'tokens'),
  overTokens('compactions', 'Compactions', 'per rollout'),
  overTokens('turns', 'Turns', 'per rollout'),
];

/** A value of a quantity as it is written. */
export const quantityText = ({ share }: Quantity, value: number): string => (share ? percent(value) : compact(value));

/** One seed's points. Over env tokens: one an iteration that has a value. */
function pointsOf({ curve, evaluation }: CellResult, { id }: Quantity): Point[] {
  if (id === 'byCompactions')
    return evaluation.comp.byCompactions.flatMap(({ solved, episodes }, x) =>
      episodes === 0 ? [] : [{ x, y: solved / episodes }],
    );
  if (!curve) return [];
  return curve.envTokens.flatMap((x, i) => {
    const y = curve[id][i];
    return y === null || y === undefined ? [] : [{ x, y }];
  });
}

/** Lines of some cells; seeds without a point are left out. */
export function seedLines(cells: readonly CellResult[], quantity: Quantity): SeedLine[] {
  return cells
    .map((cell) => ({ seed: cell.seed, points: pointsOf(cell, quantity) }))
    .filter(({ points }) => points.length > 0);
}

/** Linear between neighbours; null outside. @param points ascending in x, at least one */
export function valueAt(points: readonly Point[], x: number): number | null {
  const right = points.findIndex((point) => point.x >= x);
  if (right < 0) return null;
  const after = points[right]!;
  if (after.x === x) return after.y;
  const before = points[right - 1];
  if (!before) return null;
  return before.y + ((after.y - before.y) * (x - before.x)) / (after.x - before.x);
}

/** Where the seeds are compared: whole numbers of compactions, else evenly from where the first begins to where the last ends. */
function grid(lines: readonly SeedLine[], { id }: Quantity): number[] {
  const xs = lines.flatMap(({ points }) => points.map(({ x }) => x));
  if (id === 'byCompactions') return [...new Set(xs)].sort((a, b) => a - b);
  const [from, to] = [Math.min(...xs), Math.max(...xs)];
  if (from === to) return [from];
  return Array.from({ length: GRID }, (_, i) => from + ((to - from) * i) / (GRID - 1));
}

/**
 * Mean and interval along the curves. Seeds part in their env tokens, so values between iterations are interpolated; where
 * some seeds have already ended only the others count, and places that fewer than half reach are left out.
 */
export function bandOf(lines: readonly SeedLine[], quantity: Quantity, summary: Summary): BandPoint[] {
  if (lines.length === 0) return [];
  return grid(lines, quantity).flatMap((x) => {
    const values = lines.flatMap(({ seed, points }) => {
      const value = valueAt(points, x);
      return value === null ? [] : [{ seed, value }];
    });
    const mean = summary.mean(values);
    if (mean === null || 2 * values.length < lines.length) return [];
    const { low, high } = summary.interval(values) ?? { low: null, high: null };
    return [{ x, mean, low, high, n: values.length }];
  });
}

/** One arm of the figure. */
export interface Panel {
  readonly arm: string;
  readonly title: string;
  readonly lines: readonly SeedLine[];
  readonly band: readonly BandPoint[];
  /** A run of this browser, laid over the recorded ones. */
  readonly own: readonly Point[];
}

/** Axes that all panels of a figure share. */
export interface Axes {
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
}

/** @returns room for every line; shares go from 0 to 1 */
export function sharedAxes(panels: readonly Panel[], { share, id }: Quantity): Axes {
  const points = panels.flatMap(({ lines, own }) => [...lines.flatMap((line) => line.points), ...own]);
  const most = (values: number[], least: number) => values.reduce((a, b) => Math.max(a, b), least);
  const right = most(points.map(({ x }) => x), 1); // biome-ignore format: one line
  return {
    x: id === 'byCompactions' ? [-0.25, right + 0.25] : [0, right],
    y: [0, share ? 1 : 1.06 * most(points.map(({ y }) => y), 1e-9)], // biome-ignore format: one line
  };
}

/** A panel in words, for those who do not see it. */
export function panelWords({ title, lines, band, own }: Panel, quantity: Quantity): string {
  const last = band.at(-1);
  const at = (x: number) =>
    quantity.id === 'byCompactions' ? `${x} compactions required` : `${compact(x)} env tokens`;
  if (!last) return `${title}: no data`;
  const first = band[0]!;
  const text = (value: number) => quantityText(quantity, value);
  const interval =
    last.low === null || last.high === null ? '' : `, 95 % interval ${text(last.low)} to ${text(last.high)}`;
  const mine = own.at(-1);
  return (
    `${title}: mean of ${lines.length} seeds from ${text(first.mean)} at ${at(first.x)} to ${text(last.mean)} at ${at(last.x)}${interval}` +
    (mine ? `; your run ${text(mine.y)} at ${at(mine.x)}` : '')
  );
}
