/** Draws the success of several arms against a setting with Observable Plot. Loaded when needed. */
import { axisX, axisY, dot, gridY, line, plot, ruleX, ruleY, text } from '@observablehq/plot';
import type { Interval } from '../../core/statistics/intervals';
import { compact, percent } from '../format';
import { frame } from './plot';

/** An arm at one value of the setting. */
export interface SweepPoint {
  readonly x: number;
  readonly mean: number;
  readonly interval: Interval | null;
  readonly seeds: readonly number[];
}

export interface SweepLine {
  readonly title: string;
  readonly points: readonly SweepPoint[];
}

/** Arms are told apart without colour, as on the rest of the page: by symbol, filling and dashes. */
const looks = [
  { symbol: 'circle', fill: 'var(--ink)', dashes: 'none' },
  { symbol: 'square', fill: 'var(--paper)', dashes: '7 3' },
  { symbol: 'triangle', fill: 'var(--paper)', dashes: '2 3' },
  { symbol: 'diamond', fill: 'var(--ink-3)', dashes: '9 3 2 3' },
] as const;

/** Arms at one value stand side by side, px. */
const ASIDE = 9;
const KEY_LINE = 18;
/** Width of a letter of the key, px, about. */
const LETTER = 6.3;

/** Places of the key's entries, row by row. */
function keyPlaces(titles: readonly string[], width: number) {
  let [x, row] = [0, 0];
  return titles.map((title) => {
    const size = 34 + LETTER * title.length;
    if (x > 0 && x + size > width) [x, row] = [0, row + 1];
    const place = { title, x, row };
    x += size;
    return place;
  });
}

/**
 * @param values of the setting, ascending: they stand at equal distances
 * @param lines at most four; success as a share
 * @param label of the horizontal axis
 * @param height of the plot in px, to which the key adds a line or more
 */
export function drawSweep(
  values: readonly number[],
  lines: readonly SweepLine[],
  label: string,
  width: number,
  height: number,
): Element {
  const { marginLeft = 0, marginRight = 0, ...rest } = frame(width, height);
  const key = keyPlaces(
    lines.map(({ title }) => title),
    width - marginLeft - marginRight,
  );
  const marginTop = 14 + KEY_LINE * (1 + Math.max(0, ...key.map(({ row }) => row)));
  const marks = lines.flatMap(({ points }, i) => {
    const { symbol, fill, dashes } = looks[i]!;
    const dx = ASIDE * (i - (lines.length - 1) / 2);
    const place = key[i]!;
    const inKey = { frameAnchor: 'top-left', dy: KEY_LINE * place.row - marginTop + 10 } as const;
    const shape = { symbol, fill, stroke: 'var(--ink)', strokeWidth: 1.5, r: 4 } as const;
    return [
      dot(
        points.flatMap(({ x, seeds }) => seeds.map((y) => ({ x, y }))),
        { x: 'x', y: 'y', dx: dx - ASIDE / 2, r: 2, fill: 'var(--observation)' },
      ),
      line(points, { x: 'x', y: 'mean', dx, stroke: 'var(--ink)', strokeWidth: 1.6, strokeDasharray: dashes }),
      ruleX(
        points.flatMap(({ x, interval }) => (interval ? [{ x, ...interval }] : [])),
        { x: 'x', y1: 'low', y2: 'high', dx, stroke: 'var(--ink)', strokeWidth: 1.4, clip: true },
      ),
      dot(points, { x: 'x', y: 'mean', dx, ...shape }),
      dot([0], { ...inKey, dx: place.x + 6, ...shape }),
      text([place.title], {
        ...inKey,
        dx: place.x + 16,
        textAnchor: 'start',
        lineAnchor: 'middle',
        fill: 'var(--ink)',
        fontSize: 12,
      }),
    ];
  });
  const drawn = plot({
    ...rest,
    marginLeft,
    marginRight,
    marginTop,
    marginBottom: 40,
    height: height + marginTop,
    x: { type: 'point', domain: [...values], padding: 0.4, label: null },
    y: { domain: [0, 1], label: null },
    marks: [
      gridY({ ticks: 5, stroke: 'var(--line)', strokeOpacity: 1 }),
      axisY({ ticks: 5, tickSize: 0, tickFormat: (y: number) => percent(y), fill: 'var(--ink-3)' }),
      axisX({
        tickSize: 4,
        tickFormat: (x: number) => compact(x),
        stroke: 'var(--line-strong)',
        fill: 'var(--ink-3)',
        label,
        labelAnchor: 'center',
        labelArrow: 'none',
      }),
      ruleY([0], { stroke: 'var(--line-strong)' }),
      ...marks,
    ],
  });
  drawn.setAttribute('aria-hidden', 'true');
  return drawn;
}
