/** A cell that was run in this browser. */
import type { CellResult } from '../../core/experiment/types';

export interface OwnRun {
  readonly setup: string;
  readonly arm: string;
  readonly cell: CellResult;
}
