/** The table of an experiment in the layout of the paper (rows arms, blocks of columns setups), as text. */

import { type Arm, type ExperimentResults, evalModes, type Setup } from '../../core/experiment/experiment';
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

/** An arm's numbers in a setup, in the order of the columns; undefined where it does not run there. */
function samplesOf(setup: Setup, arm: Arm, table: readonly ArmSample[]): (ArmSample | undefined)[] | undefined {
  const own = evalModes.map((mode) =>
    table.find((s) => s.setup === setup.id && s.arm === arm.id && s.outcome === mode),
  );
  return own[0] && own;
}

/** One setup: its title, a line of column names, a line an arm; all of one width. `·`: the arm does not run there. */
function block(setup: Setup, arms: readonly Arm[], table: readonly ArmSample[]): string[] {
  const rows = arms.map((arm) => {
    const own = samplesOf(setup, arm, table);
    return own ? [String(own[0]!.n), ...own.map(rate)] : ['·', ...evalModes.map(() => '·')];
  });
  const lines = aligned([['n', ...evalModes], ...rows]);
  const width = Math.max(setup.title.length, lines[0]!.length);
  return [setup.title, ...lines].map((line) => line.padEnd(width));
}

/**
 * Success in %, mean over seeds ± half of the 95 % interval, as many setups side by side as a line holds, with the arms that run
 * in any of them; setups without cells are named at the end.
 * @param table what `armTable` gives
 */
export function tableText({ experiment, cells }: ExperimentResults, table: readonly ArmSample[]): string {
  const { title, arms } = experiment;
  const begun = new Set(cells.map(({ setup }) => setup));
  const setups = experiment.setups.filter(({ id }) => begun.has(id));
  const open = experiment.setups.filter(({ id }) => !begun.has(id)).map((setup) => setup.title);
  const width = Math.max(...['arm', ...arms.map((arm) => arm.title)].map((label) => label.length));
  const widthOf = (setup: Setup) => BLOCK_GAP.length + block(setup, arms, table)[0]!.length;
  const tiers: Setup[][] = [];
  let left = 0;
  for (const setup of setups) {
    const needed = widthOf(setup);
    if (tiers.length > 0 && needed <= left) tiers.at(-1)!.push(setup);
    else {
      tiers.push([setup]);
      left = LINE - width;
    }
    left -= needed;
  }
  const parts = tiers.map((tier) => {
    const rows = arms.filter((arm) => tier.some((setup) => samplesOf(setup, arm, table)));
    const names = ['', 'arm', ...rows.map((arm) => arm.title)].map((label) => label.padEnd(width));
    const blocks = [names, ...tier.map((setup) => block(setup, rows, table))];
    return names
      .map(
        (_, i) =>
          `${blocks
            .map((lines) => lines[i])
            .join(BLOCK_GAP)
            .trimEnd()}\n`,
      )
      .join('');
  });
  if (open.length > 0) parts.push(`No cell yet: ${open.join('; ')}\n`);
  return `${title}: success in %, mean over n seeds ± half of the 95 % interval\n\n${parts.join('\n')}`;
}
