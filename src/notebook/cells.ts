/**
 * The cell registry. A new kind of cell is one file in `cells/` and one line here; documents, links, drafts and the
 * page's insertion menu follow. Defaults of a released kind never change: links leave out what equals its default.
 */
import * as v from 'valibot';
import { benchCell } from './cells/bench';
import { claimsCell } from './cells/claims';
import { comparisonCell } from './cells/comparison';
import { contentsCell } from './cells/contents';
import { episodeCell } from './cells/episode';
import { experimentCell } from './cells/experiment';
import { proseCell } from './cells/prose';

export type { BenchCell } from './cells/bench';
export type { ClaimsCell } from './cells/claims';
export type { ComparisonCell } from './cells/comparison';
export type { ContentsCell } from './cells/contents';
export type { EpisodeCell } from './cells/episode';
export type { ExperimentCell } from './cells/experiment';
export type { ProseCell } from './cells/prose';

export const cellTypes = {
  prose: proseCell,
  experiment: experimentCell,
  bench: benchCell,
  comparison: comparisonCell,
  claims: claimsCell,
  episode: episodeCell,
  contents: contentsCell,
} as const;

export type CellKind = keyof typeof cellTypes;
export const cellKinds = Object.keys(cellTypes) as CellKind[];

/** One cell of any kind. */
export type Cell = Readonly<v.InferOutput<(typeof cellTypes)[CellKind]['schema']>>;

export const cellSchema = v.variant('kind', [
  proseCell.schema,
  experimentCell.schema,
  benchCell.schema,
  comparisonCell.schema,
  claimsCell.schema,
  episodeCell.schema,
  contentsCell.schema,
]);

/** A fresh cell of a kind. */
export function blankCell(kind: CellKind): Cell {
  return cellTypes[kind].blank();
}
