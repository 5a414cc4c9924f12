/** Draws a forest plot with Observable Plot: a point and its interval for each row, the verdict beside it. Loaded when needed. */
import { axisX, dot, gridX, type Markish, plot, rect, ruleX, ruleY, text } from '@observablehq/plot';
import type { ForestPanel, ForestRow, Look } from '../comparison/forest-rows';
import { compact } from '../format';
import { columnsOf, forestLayout, type RowLine } from './forest-layout';
import { frame } from './plot';

const AXIS = 34;
const SYMBOL = 14;

const hues = ['var(--terminal)', 'var(--code)', 'var(--ink-2)'] as const;
const shapes = [
  ['circle', 'square'],
  ['triangle', 'diamond'],
  ['star', 'wye'],
] as const;

/** Looks beyond the third suite repeat: the names of the setups tell them apart. */
const place = ({ suite }: Look) => suite % hues.length;
const hue = ({ look }: ForestRow): string => hues[place(look)]!;
const shape = ({ look }: ForestRow) => shapes[place(look)]![look.larger ? 1 : 0];

const signed = (value: number): string => (value > 0 ? '+' : '') + compact(value).replace('-', '−');

/** @param width of the whole, px */
export function drawForest(panel: ForestPanel, width: number): SVGSVGElement | HTMLElement {
  const columns = columnsOf(width);
  const layout = forestLayout(panel.rows, width);
  const left = columns.claim + columns.setup;
  const known = layout.rows.filter(({ row }) => row.mean !== null);
  const ranged = layout.rows.filter(({ row }) => row.low !== null);
  const y = ({ y: at }: { readonly y: number }) => at;
  // Above their rows the words cross the lines of the axis.
  const inMargin = {
    stroke: 'var(--paper)',
    strokeWidth: 4,
    y,
    frameAnchor: 'left',
    textAnchor: 'start',
    lineAnchor: 'middle',
  } as const;
  const dots = (looks: readonly RowLine[], where: object): Markish[] =>
    // One mark a symbol: the library draws one kind of filling at a time.
    looks.map((line) =>
      dot([line], {
        ...where,
        y,
        r: 4,
        symbol: shape(line.row),
        stroke: hue(line.row),
        strokeWidth: 1.6,
        fill: line.row.decided.finding === 'unresolved' ? 'var(--paper)' : hue(line.row),
      }),
    );
  const marks: Markish[] = [
    panel.margin === null
      ? null
      : rect([panel.margin], {
          x1: (m: number) => -m,
          x2: (m: number) => m,
          y1: 0,
          y2: layout.height,
          fill: 'var(--line)',
          fillOpacity: 0.7,
        }),
    gridX({ ticks: columns.wide ? 5 : 3, stroke: 'var(--line)', strokeOpacity: 1 }),
    axisX({
      ticks: columns.wide ? 5 : 3,
      tickSize: 4,
      tickFormat: signed,
      stroke: 'var(--line-strong)',
      fill: 'var(--ink-3)',
      label: panel.unit === 'points' ? 'points of success' : panel.unit,
      labelAnchor: 'center',
      labelArrow: 'none',
    }),
    ruleX([0], { stroke: 'var(--ink)', strokeWidth: 1.2 }),
    ruleY(ranged, {
      y,
      x1: ({ row }: RowLine) => row.low,
      x2: ({ row }: RowLine) => row.high,
      stroke: ({ row }: RowLine) => hue(row),
      strokeWidth: 1.8,
    }),
    ...dots(known, { x: ({ row }: RowLine) => row.mean }),
    ...dots(layout.rows, { frameAnchor: 'left', dx: SYMBOL / 2 - columns.setup }),
    text(layout.experiments, {
      ...inMargin,
      text: 'text',
      dx: -left,
      fill: 'var(--ink-3)',
      fontSize: 12,
      fontStyle: 'italic',
    }),
    text(layout.claims, { ...inMargin, text: 'text', dx: -left, fill: 'var(--ink)', fontSize: 12.5 }),
    text(layout.rows, {
      ...inMargin,
      text: 'name',
      dx: SYMBOL + 2 - columns.setup,
      fill: 'var(--ink-2)',
      lineWidth: (columns.setup - SYMBOL - 4) / 10.5,
      textOverflow: 'ellipsis',
    }),
    text(layout.rows, {
      y,
      frameAnchor: 'right',
      textAnchor: 'start',
      lineAnchor: 'middle',
      dx: 10,
      text: ({ row }: RowLine) => row.decided.verdict + (columns.wide && row.detail ? ` (${row.detail})` : ''),
      fill: 'var(--ink)',
    }),
  ];
  const drawn = plot({
    ...frame(width, layout.height + AXIS + 4),
    marginLeft: left,
    marginRight: columns.verdict,
    marginTop: 4,
    marginBottom: AXIS,
    x: { domain: [...panel.domain], label: null },
    y: { type: 'linear', domain: [0, layout.height], range: [4, layout.height + 4], axis: null },
    symbol: { type: 'identity' },
    color: { type: 'identity' },
    marks,
  });
  drawn.setAttribute('aria-hidden', 'true');
  return drawn;
}
