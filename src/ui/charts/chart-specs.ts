/** The curves of an experiment: one table, from which charts, the data table and the CSV file are made. */
import { type MetricName, metricHelp } from '../../core/metrics/metrics';
import type { CurveRecord, IterationRecord } from '../../core/metrics/records';
import { compact, percent } from '../format';

/** Ink for what is neither an action nor a summary; the two hues only where the series *is* about one of them. */
export type SeriesStyle = 'ink' | 'quiet' | 'action' | 'summary';

export interface SeriesSpec {
  readonly id: string;
  readonly label: string;
  readonly style: SeriesStyle;
  readonly dash?: string;
  readonly marker?: 'dot' | 'square';
  /** Null where the iteration has no such value, or its record does not keep it. */
  value(record: CurveRecord): number | null;
}

export interface ChartSpec {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly definition: string;
  /** Fixed ends of the vertical axis; an absent end follows the data. */
  readonly domain?: readonly [number | null, number | null];
  readonly percent?: boolean;
  readonly series: readonly SeriesSpec[];
}

const one = (
  id: MetricName & keyof CurveRecord,
  title: string,
  unit: string,
  options: Partial<ChartSpec> & { style?: SeriesStyle } = {},
): ChartSpec => ({
  id,
  title,
  unit,
  definition: metricHelp[id],
  series: [
    { id, label: title, style: options.style ?? 'ink', value: (r) => (r[id] as number | null | undefined) ?? null },
  ],
  ...options,
});

export const chartSpecs: readonly ChartSpec[] = [
  {
    id: 'success',
    title: 'Success',
    unit: 'share of episodes',
    definition: `Held out, compaction on: ${metricHelp.evalComp} Held out, one window: ${metricHelp.evalSingle} Training: ${metricHelp.trainSuccess}`,
    domain: [0, 1],
    percent: true,
    series: [
      { id: 'trainSuccess', label: 'training', style: 'quiet', value: (r) => r.trainSuccess ?? null },
      {
        id: 'evalComp',
        label: 'held out, compaction on',
        style: 'ink',
        marker: 'dot',
        value: (r) => r.evalComp?.success ?? null,
      },
      {
        id: 'evalSingle',
        label: 'held out, one window',
        style: 'ink',
        dash: '2 4',
        marker: 'square',
        value: (r) => r.evalSingle?.success ?? null,
      },
    ],
  },
  one('summaryTokens', 'Summary length', 'tokens', { style: 'summary', domain: [0, null] }),
  one('compactions', 'Compactions', 'per rollout', { domain: [0, null] }),
  one('meanReturn', 'Return', 'mean reward', { domain: [0, null] }),
  one('entropy', 'Entropy', 'nats', { domain: [0, null] }),
  one('kl', 'KL of the update', 'nats', { domain: [0, null] }),
  one('clipFraction', 'Clip fraction', 'share of policy tokens', { domain: [0, null], percent: true }),
  {
    id: 'explainedVariance',
    title: 'Explained variance',
    unit: 'of the value targets',
    definition: `${metricHelp.explainedVariance} Also for action and summary tokens alone.`,
    series: [
      { id: 'explainedVariance', label: 'all', style: 'ink', value: (r) => r.explainedVariance ?? null },
      {
        id: 'explainedVarianceExecution',
        label: 'actions',
        style: 'action',
        value: (r) => r.explainedVarianceExecution ?? null,
      },
      {
        id: 'explainedVarianceSummary',
        label: 'summaries',
        style: 'summary',
        dash: '5 3',
        value: (r) => r.explainedVarianceSummary ?? null,
      },
    ],
  },
  one('factRecall', 'Facts kept', 'share of needed facts', { domain: [0, 1], percent: true, style: 'summary' }),
];

/** A value as the chart's readout and the table write it. */
export function formatValue(spec: ChartSpec, value: number | null): string {
  if (value === null) return '–';
  return spec.percent
    ? Math.abs(value) < 0.1 && value !== 0
      ? `${compact(value * 100, 2)}\u202f%`
      : percent(value)
    : compact(value);
}

/** The value of a series at an iteration, or the last one before it (evaluations happen only every few iterations). */
export function valueAt(series: SeriesSpec, records: readonly CurveRecord[], index: number): number | null {
  for (let i = Math.min(index, records.length - 1); i >= 0; i--) {
    const value = series.value(records[i] as CurveRecord);
    if (value !== null) return value;
  }
  return null;
}

/** Every curve, and the one value of the evaluation in twice the window, as comma-separated values; full precision, iterations from 0 as in every other file, empty where an iteration has no value. */
export function toCsv(records: readonly IterationRecord[]): string {
  const series = chartSpecs.flatMap((spec) => spec.series);
  const head = ['iteration', 'envTokens', ...series.map((s) => s.id), 'evalLong', 'rolloutMs', 'updateMs', 'evalMs'];
  const rows = records.map((r) => [
    r.iteration,
    r.envTokens,
    ...series.map((s) => s.value(r) ?? ''),
    r.evalLong?.success ?? '',
    r.rolloutMs,
    r.updateMs,
    r.evalMs,
  ]);
  return `${[head, ...rows].map((row) => row.join(',')).join('\n')}\n`;
}
