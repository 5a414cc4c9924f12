/** Draws one arm of an experiment with Observable Plot: seeds thin, mean bold, interval as a band. Loaded when needed. */
import { areaY, axisX, axisY, dot, gridY, line, plot, ruleY } from '@observablehq/plot';
import type { Axes, BandPoint, Panel, Quantity } from '../comparison/curves';
import { quantityText } from '../comparison/curves';
import { compact } from '../format';
import { frame } from './plot';

const XY = { x: 'x', y: 'y' } as const;

/**
 * @param reference mean of the arm that the others are compared with, drawn dashed; empty for that arm itself
 * @param width px
 */
export function drawSeedCurves(
  panel: Panel,
  reference: readonly BandPoint[],
  quantity: Quantity,
  axes: Axes,
  width: number,
  height: number,
): Element {
  const counted = quantity.id === 'byCompactions';
  const mean = panel.band.map(({ x, mean: y }) => ({ x, y }));
  const seeds = panel.lines.flatMap(({ seed, points }) => points.map((point) => ({ ...point, seed })));
  const drawn = plot({
    ...frame(width, height),
    x: { domain: [...axes.x], label: null },
    y: { domain: [...axes.y], label: null },
    marks: [
      gridY({ ticks: 3, stroke: 'var(--line)', strokeOpacity: 1 }),
      axisY({ ticks: 3, tickSize: 0, tickFormat: (y: number) => quantityText(quantity, y), fill: 'var(--ink-3)' }),
      axisX({
        ticks: counted ? Array.from({ length: Math.floor(axes.x[1]) + 1 }, (_, i) => i) : 3,
        tickSize: 4,
        tickFormat: (x: number) => compact(x),
        stroke: 'var(--line-strong)',
        fill: 'var(--ink-3)',
      }),
      ruleY([0], { stroke: 'var(--line-strong)' }),
      areaY(
        panel.band.filter(({ low }) => low !== null),
        { x: 'x', y1: 'low', y2: 'high', fill: 'var(--ink)', fillOpacity: 0.25, clip: true },
      ),
      line(seeds, { ...XY, z: 'seed', stroke: 'var(--observation)', strokeWidth: 0.7, strokeOpacity: 0.5 }),
      line(
        reference.map(({ x, mean: y }) => ({ x, y })),
        { ...XY, stroke: 'var(--ink-2)', strokeWidth: 1.3, strokeDasharray: '2 3' },
      ),
      line(mean, { ...XY, stroke: 'var(--ink)', strokeWidth: 2.2 }),
      counted ? dot(mean, { ...XY, r: 2.6, fill: 'var(--ink)' }) : null,
      line(panel.own, { ...XY, stroke: 'var(--ink)', strokeWidth: 1.6, strokeDasharray: '6 2' }),
      dot(counted ? panel.own : panel.own.slice(-1), {
        ...XY,
        r: 4,
        symbol: 'diamond',
        fill: 'var(--paper)',
        stroke: 'var(--ink)',
        strokeWidth: 1.8,
      }),
    ],
  });
  drawn.setAttribute('aria-hidden', 'true');
  return drawn;
}
