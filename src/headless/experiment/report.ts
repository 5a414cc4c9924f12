/** The table of an experiment in the layout of the paper (rows arms, blocks of columns setups), and its claims, as text. */
import type { EvalMode, Experiment, ExperimentResults } from '../../core/experiment/types';
import { halfWidth } from './spread';

/** Order of the paper's columns. */
const columns: readonly EvalMode[] = ['single', 'comp', 'long'];

/** Success over seeds. */
interface Rate {
  readonly mean: number;
  /** Half the width of the 95 % interval of the mean; null where seeds are too few. */
  readonly half: number | null;
}

/** One arm in one setup. */
interface TableEntry {
  readonly setup: string;
  readonly arm: string;
  /** Number of seeds. */
  readonly n: number;
  readonly rates: Readonly<Record<EvalMode, Rate>>;
}

/** Arms that have a cell, in the order of the experiment. */
export function tableOf({ experiment, cells }: ExperimentResults): TableEntry[] {
  return experiment.setups.flatMap(({ id: setup }) =>
    experiment.arms.flatMap(({ id: arm }) => {
      const own = cells.filter((cell) => cell.setup === setup && cell.arm === arm);
      if (own.length === 0) return [];
      const rateOf = (mode: EvalMode): Rate => {
        const values = own.map(({ evaluation }) => evaluation[mode].success);
        return { mean: values.reduce((sum, value) => sum + value, 0) / values.length, half: halfWidth(values) };
      };
      const rates = { comp: rateOf('comp'), single: rateOf('single'), long: rateOf('long') };
      return [{ setup, arm, n: own.length, rates }];
    }),
  );
}

const percent = (share: number) => (100 * share).toFixed(1);
const rate = ({ mean, half }: Rate) => `${percent(mean)}${half === null ? '' : ` ±${percent(half)}`}`;

const GAP = '  ';
const BLOCK_GAP = '  | ';

/** Width of each column. */
const widths = (rows: readonly (readonly string[])[]) =>
  (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));

/** Success in %, mean ± half of the 95 % interval over seeds; `–` where an arm has no seed yet. */
export function tableText({ title, setups, arms }: Experiment, entries: readonly TableEntry[]): string {
  const block = (setup: string): string[][] => [
    ['seeds', ...columns],
    ...arms.map(({ id }) => {
      const entry = entries.find((e) => e.setup === setup && e.arm === id);
      return entry ? [String(entry.n), ...columns.map((mode) => rate(entry.rates[mode]))] : ['0', '–', '–', '–'];
    }),
  ];
  const blocks = setups.map(({ id, title: name }) => {
    const rows = block(id);
    const width = widths(rows);
    const lines = rows.map((row) => row.map((text, i) => text.padStart(width[i]!)).join(GAP));
    const whole = Math.max(name.length, lines[0]?.length ?? 0);
    return [name.padEnd(whole), ...lines.map((line) => line.padEnd(whole))];
  });
  const names = ['', 'arm', ...arms.map((arm) => arm.title)];
  const first = Math.max(...names.map((name) => name.length));
  const lines = names.map((name, i) =>
    [name.padEnd(first), ...blocks.map((rows) => rows[i])].join(BLOCK_GAP).trimEnd(),
  );
  return `${title}: success in %, mean over seeds ± half of the 95 % interval\n\n${lines.join('\n')}\n`;
}
