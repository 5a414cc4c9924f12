/** Where the lines of a forest plot stand: experiments, their claims, and a row for each setup of a claim. */
import { type ForestRow, shortTitle } from '../comparison/forest-rows';
import { wrapped } from '../figure-export';

/** A line of text, px; also the height of a row. */
export const LINE = 15;
const BETWEEN = 9;
/** Width of a letter of a claim, px, about. */
const LETTER = 6.7;
/** From this width the claims stand beside their rows, px; below it above them. */
const WIDE = 760;

export interface Columns {
  /** Left of the drawing: claims, where they stand beside; names of setups. */
  readonly claim: number;
  readonly setup: number;
  readonly verdict: number;
  /** Whether verdicts say all. */
  readonly wide: boolean;
}

export const columnsOf = (width: number): Columns =>
  width >= WIDE
    ? { claim: Math.min(400, 0.34 * width), setup: 150, verdict: 190, wide: true }
    : { claim: 0, setup: 106, verdict: 86, wide: false };

export interface TextLine {
  readonly text: string;
  readonly y: number;
}

export interface RowLine {
  readonly row: ForestRow;
  readonly y: number;
  readonly name: string;
}

export interface ForestLayout {
  readonly height: number;
  readonly experiments: readonly TextLine[];
  readonly claims: readonly TextLine[];
  readonly rows: readonly RowLine[];
}

/** Rows that follow one another and have the same key. */
function runs(rows: readonly ForestRow[], key: (row: ForestRow) => string): ForestRow[][] {
  const groups: ForestRow[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last?.[0] && key(last[0]) === key(row)) last.push(row);
    else groups.push([row]);
  }
  return groups;
}

/** @param rows of one axis, in order; the experiments are named where there are several */
export function forestLayout(rows: readonly ForestRow[], width: number): ForestLayout {
  const columns = columnsOf(width);
  const letters = Math.floor((columns.wide ? columns.claim - 16 : width) / LETTER);
  const experiments: TextLine[] = [];
  const claims: TextLine[] = [];
  const places: RowLine[] = [];
  let y = 0;
  const say = (into: TextLine[], text: string, at: number): number => {
    const lines = wrapped(text, letters);
    for (const [i, line] of lines.entries()) into.push({ text: line, y: at + LINE * (i + 0.5) });
    return LINE * lines.length;
  };
  const groups = runs(rows, ({ experiment }) => experiment.id);
  for (const group of groups) {
    if (groups.length > 1) {
      if (y > 0) y += BETWEEN;
      y += say(experiments, group[0]!.experiment.title, y) + BETWEEN / 3;
    }
    for (const own of runs(group, ({ decided }) => decided.claim.id)) {
      const said = say(claims, own[0]!.decided.claim.text, y);
      if (!columns.wide) y += said;
      for (const [i, row] of own.entries()) places.push({ row, y: y + LINE * (i + 0.5), name: shortTitle(row.setup) });
      y += Math.max(LINE * own.length, columns.wide ? said : 0) + BETWEEN;
    }
  }
  return { height: Math.max(LINE, y), experiments, claims, rows: places };
}
