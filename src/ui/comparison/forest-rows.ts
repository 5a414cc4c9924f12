/** The claims of several experiments as the rows of one figure, and the axes that they share. */
import { defaultConfig } from '../../core/config/config';
import type { Experiment, Setup } from '../../core/experiment/experiment';
import { type ClaimKind, kindOf, verdictDetail } from '../../core/experiment/verdict-words';
import type { ClaimResult } from '../../core/experiment/verdicts';
import type { Comparison } from './comparison';
import { isShare, unitOf } from './difference';

/** Suite and size of a policy, each by its place among those of the figure. */
export interface Look {
  readonly suite: number;
  readonly larger: boolean;
}

export interface ForestRow {
  readonly decided: ClaimResult;
  readonly experiment: Experiment;
  readonly setup: Setup;
  readonly look: Look;
  /** In the unit of the axis: points for shares. */
  readonly mean: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly detail: string;
}

/** Rows with one unit share an axis. */
export interface ForestPanel {
  readonly unit: string;
  readonly rows: readonly ForestRow[];
  readonly domain: readonly [number, number];
  /** Differences up to this count as none; null where no such bound was set. */
  readonly margin: number | null;
}

const settings = ({ experiment }: Comparison, setup: Setup) => ({
  ...defaultConfig,
  ...experiment.shared,
  ...setup.config,
});

/** Every claim in every setup, in the order of the files. */
export function forestRows(comparisons: readonly Comparison[]): ForestRow[] {
  const all = comparisons.flatMap((one) => one.setups.map((setup) => settings(one, setup)));
  const suites = [...new Set(all.map(({ suite }) => suite))];
  const smallest = Math.min(...all.map(({ dModel }) => dModel));
  return comparisons.flatMap((comparison) =>
    comparison.claims.flatMap((decided) => {
      const setup = comparison.setups.find(({ id }) => id === decided.setup);
      if (!setup) return [];
      const { suite, dModel } = settings(comparison, setup);
      const scale = isShare(decided) ? 100 : 1;
      const scaled = (value: number | undefined) => (value === undefined ? null : scale * value);
      return {
        decided,
        experiment: comparison.experiment,
        setup,
        look: { suite: suites.indexOf(suite), larger: dModel > smallest },
        mean: scaled(decided.mean ?? undefined),
        low: scaled(decided.interval?.low),
        high: scaled(decided.interval?.high),
        detail: verdictDetail(decided),
      };
    }),
  );
}

/** Rows of one kind by unit. Zero stands at the same place of every axis. */
export function forestPanels(rows: readonly ForestRow[], kind: ClaimKind, margin: number): ForestPanel[] {
  const byUnit = new Map<string, ForestRow[]>();
  for (const row of rows.filter(({ decided }) => kindOf(decided.claim) === kind)) {
    const unit = unitOf(row.decided);
    byUnit.set(unit, [...(byUnit.get(unit) ?? []), row]);
  }
  const ends = [...byUnit].map(([unit, own]) => {
    const values = own.flatMap(({ mean, low, high }) => [mean, low, high].filter((value) => value !== null));
    return { unit, own, least: Math.min(0, ...values), most: Math.max(0, ...values) };
  });
  // How far the axes go below zero, in parts of how far they go above: as far as the one that needs most.
  const [first] = ends;
  const below = first && first.most > 0 ? Math.max(0.15, -first.least / first.most) : 1;
  return ends.map(({ unit, own, least, most }) => {
    const above = 1.04 * Math.max(most, -least / below, Number.EPSILON);
    return { unit, rows: own, domain: [-below * above, above], margin: unit === 'points' ? 100 * margin : null };
  });
}

/** A setup's title in a narrow column: without the words that say only what kind of word goes before. */
export const shortTitle = ({ title }: Setup): string => title.replace(/ (suite|policy)(?![\w-])/g, '');
