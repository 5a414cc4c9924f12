/** Draws measured speeds as bars with Observable Plot. Loaded only when there is something to draw. */
import { axisX, axisY, barX, plot, ruleX, ruleY } from '@observablehq/plot';
import { type BenchRow, peerNames } from '../../core/protocol/bench';
import { compact } from '../format';

const ROW_HEIGHT = 22;

/**
 * One group of bars per task: the median, with a stroke from the smallest to the largest measurement.
 * @param names of engines and of tasks as the page writes them
 * @param width px
 */
export function drawBenchBars(
  rows: readonly BenchRow[],
  names: { readonly engine: (engine: string) => string; readonly task: (task: string) => string },
  width: number,
): Element {
  const bars = rows.flatMap(({ task, tokensPerSecond }) =>
    peerNames.flatMap((name) => {
      const spread = tokensPerSecond[name];
      return spread ? [{ task: names.task(task), engine: names.engine(name), ours: name === 'ours', ...spread }] : [];
    }),
  );
  const drawn = plot({
    width,
    height: bars.length * ROW_HEIGHT + rows.length * 8 + 44,
    marginLeft: 62,
    marginRight: 84,
    marginTop: 4,
    marginBottom: 24,
    style: { background: 'none', color: 'var(--ink-3)', fontFamily: 'var(--font-ui)', fontSize: '11px' },
    x: { label: null, nice: true },
    y: { label: null, domain: peerNames.map(names.engine), padding: 0.25 },
    fy: { label: null, domain: rows.map(({ task }) => names.task(task)), padding: 0.12 },
    marks: [
      axisX({ ticks: width < 500 ? 3 : 5, tickFormat: (value: number) => compact(value), fill: 'var(--ink-3)' }),
      axisY({ tickSize: 0, fill: 'var(--ink-2)' }),
      barX(bars, {
        x: 'median',
        y: 'engine',
        fy: 'task',
        fill: (bar: (typeof bars)[number]) => (bar.ours ? 'var(--ink)' : 'var(--observation)'),
      }),
      ruleY(bars, { x1: 'min', x2: 'max', y: 'engine', fy: 'task', stroke: 'var(--line-strong)', strokeWidth: 2 }),
      ruleX([0], { stroke: 'var(--line-strong)' }),
    ],
  });
  drawn.setAttribute('aria-hidden', 'true');
  return drawn;
}
