/** Draws one chart with Observable Plot. Loaded only when there is something to draw. */
import { areaY, axisX, axisY, dot, gridY, line, type PlotOptions, plot, ruleY } from '@observablehq/plot';
import type { CurveRecord } from '../../core/metrics/records';
import { ordinal } from '../format';
import { type ChartSpec, formatValue, type SeriesSpec } from './chart-specs';

/** More points than this are thinned out before drawing: more than pixels cannot be seen. */
const MAX_POINTS = 400;
const RECORDED = 'var(--recorded)';
const MARGIN = { left: 46, right: 10, top: 8, bottom: 24 } as const;

export interface Drawn {
  readonly svg: Element;
  /** Pixel position of an iteration inside the drawing. */
  x(iteration: number): number;
  /** The iteration at a pixel position. */
  iteration(x: number): number;
}

interface Point {
  readonly iteration: number;
  readonly value: number;
}

function points(series: SeriesSpec, records: readonly CurveRecord[]): Point[] {
  const all: Point[] = [];
  for (const record of records) {
    const value = series.value(record);
    if (value !== null && Number.isFinite(value)) all.push({ iteration: ordinal(record.iteration), value });
  }
  if (all.length <= MAX_POINTS) return all;
  const stride = Math.ceil(all.length / MAX_POINTS);
  return all.filter((_, i) => i % stride === 0 || i === all.length - 1);
}

const color = (series: SeriesSpec): string =>
  ({ ink: 'var(--ink)', quiet: 'var(--observation)', action: 'var(--action)', summary: 'var(--summary)' })[
    series.style
  ];

/** Size, margins and text of a small multiple. @param width px @param height px */
export function frame(width: number, height: number): PlotOptions {
  return {
    width,
    height,
    marginLeft: MARGIN.left,
    marginRight: MARGIN.right,
    marginTop: MARGIN.top,
    marginBottom: MARGIN.bottom,
    style: {
      background: 'none',
      color: 'var(--ink-3)',
      fontFamily: 'var(--font-ui)',
      fontSize: '11px',
      overflow: 'visible',
    },
  };
}

/**
 * @param recorded an earlier run, in grey beneath
 * @param iterations the length of the whole run: the horizontal axis shows how far it still has to go
 */
export function drawChart(
  spec: ChartSpec,
  records: readonly CurveRecord[],
  recorded: readonly CurveRecord[],
  iterations: number,
  width: number,
  height: number,
): Drawn {
  const data = spec.series.map((series) => ({ series, points: points(series, records) }));
  const before = spec.series.map((series) => ({ series, points: points(series, recorded) }));
  const values = [...before, ...data].flatMap((d) => d.points.map((p) => p.value));
  let low = spec.domain?.[0] ?? Math.min(...values, 0);
  let high = spec.domain?.[1] ?? Math.max(...values, 0);
  if (!(high > low)) high = low + 1;
  if (spec.domain?.[1] == null) high += (high - low) * 0.08;
  if (spec.domain?.[0] == null && low < 0) low -= (high - low) * 0.08;
  const drawn = plot({
    ...frame(width, height),
    x: { domain: [1, Math.max(2, iterations)], label: null },
    y: { domain: [low, high], label: null, nice: spec.domain?.[1] == null ? 3 : false },
    marks: [
      gridY({ ticks: 3, stroke: 'var(--line)', strokeOpacity: 1 }),
      axisY({ ticks: 3, tickSize: 0, tickFormat: (v: number) => formatValue(spec, v), fill: 'var(--ink-3)' }),
      axisX({
        ticks: Math.min(4, Math.max(1, iterations - 1)),
        tickSize: 4,
        tickFormat: (v: number) => (Number.isInteger(v) ? String(v) : ''),
        stroke: 'var(--line-strong)',
        fill: 'var(--ink-3)',
      }),
      ruleY([Math.max(low, Math.min(0, high))], { stroke: 'var(--line-strong)' }),
      ...before.flatMap(({ series, points: p }) => [
        line(p, {
          x: 'iteration',
          y: 'value',
          stroke: RECORDED,
          strokeWidth: series.style === 'quiet' ? 1 : 2.4,
          strokeOpacity: series.style === 'quiet' ? 0.6 : 1,
          strokeDasharray: series.dash ?? 'none',
          strokeLinejoin: 'round',
        }),
      ]),
      data[0] && data.length === 1
        ? areaY(data[0].points, {
            x: 'iteration',
            y1: Math.max(low, 0),
            y2: 'value',
            fill: color(data[0].series),
            fillOpacity: 0.07,
          })
        : null,
      ...data.flatMap(({ series, points: p }) => [
        line(p, {
          x: 'iteration',
          y: 'value',
          stroke: color(series),
          strokeWidth: series.style === 'quiet' ? 1.25 : 1.9,
          strokeDasharray: series.dash ?? 'none',
          strokeLinejoin: 'round',
        }),
        series.marker || p.length === 1
          ? dot(p, {
              x: 'iteration',
              y: 'value',
              r: 2.6,
              symbol: series.marker === 'square' ? 'square' : 'circle',
              fill: series.marker === 'square' ? 'var(--paper)' : color(series),
              stroke: color(series),
              strokeWidth: 1.4,
            })
          : null,
      ]),
    ],
  });
  drawn.setAttribute('aria-hidden', 'true');
  const scale = drawn.scale('x');
  return {
    svg: drawn,
    x: (iteration) => Number(scale?.apply(iteration) ?? 0),
    iteration: (x) => Number(scale?.invert?.(x) ?? 1),
  };
}
