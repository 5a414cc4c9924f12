/** The table of an experiment in the layout of the paper (rows arms, blocks of columns setups), as text. */
import { evalModes } from '../../core/experiment/paper';
import type { Experiment, ExperimentResults } from '../../core/experiment/types';
import type { ArmSample } from '../../core/experiment/verdicts';
import { aligned, percent } from './text-columns';

/** Characters of a line: blocks that do not fit go below the others. */
const LINE = 120;
const BLOCK_GAP = '  | ';

/** Mean and half of the 95 % interval in %; `–` where no seed has a value yet. */
function rate(sample: ArmSample | undefined): string {
  if (!sample || sample.mean === null) return '–';
  const { mean, interval } = sample;
  return `${percent(mean)}${interval === null ? '' : ` ±${percent((interval.high - interval.low) / 2)}`}`;
}

/** One setup: its title, a line of column names, a line an arm; all of one width. `·`: the arm does not run there. */
function block(setup: Experiment['setups'][number], arms: Experiment['arms'], table: readonly ArmSample[]): string[] {
  const rows = arms.map((arm) => {
    const own = evalModes.map((mode) =>
      table.find((s) => s.setup === setup.id && s.arm === arm.id && s.outcome === mode),
    );
    return own[0] ? [String(own[0].n), ...own.map(rate)] : ['·', ...evalModes.map(() => '·')];
  });
  const lines = aligned([['n', ...evalModes], ...rows]);
  const width = Math.max(setup.title.length, lines[0]!.length);
  return [setup.title, ...lines].map((line) => line.padEnd(width));
}

/**
 * Success in %, mean over seeds ± half of the 95 % interval, as many setups side by side as a line holds; setups without cells
 * are named at the end.
 * @param table what `armTable` gives
 */
export function tableText({ experiment, cells }: ExperimentResults, table: readonly ArmSample[]): string {
  const { title, arms } = experiment;
  const begun = new Set(cells.map(({ setup }) => setup));
  const setups = experiment.setups.filter(({ id }) => begun.has(id));
  const open = experiment.setups.filter(({ id }) => !begun.has(id)).map((setup) => setup.title);
  const labels = ['', 'arm', ...arms.map((arm) => arm.title)];
  const width = Math.max(...labels.map((label) => label.length));
  const names = labels.map((label) => label.padEnd(width));
  const tiers: string[][] = [];
  for (const lines of setups.map((setup) => block(setup, arms, table))) {
    const tier = tiers.at(-1);
    const joined = (left: readonly string[]) => left.map((line, i) => line + BLOCK_GAP + lines[i]);
    if (tier && tier[0]!.length + BLOCK_GAP.length + lines[0]!.length <= LINE) tiers[tiers.length - 1] = joined(tier);
    else tiers.push(joined(names));
  }
  const parts = tiers.map((tier) => tier.map((line) => `${line.trimEnd()}\n`).join(''));
  if (open.length > 0) parts.push(`No cell yet: ${open.join('; ')}\n`);
  return `${title}: success in %, mean over n seeds ± half of the 95 % interval\n\n${parts.join('\n')}`;
}
