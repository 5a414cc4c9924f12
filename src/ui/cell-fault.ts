/** What stands in the place of a cell that could not be drawn: the error, another try, and the source of the cell. */
import { html } from 'lit';
import { errorParts, LabError, type LabErrorParts } from '../core/errors';
import type { Cell } from '../notebook/cells';
import './error-panel';

export interface CellFault {
  readonly cell: Cell;
  readonly thrown: unknown;
}

/** The parts of the error; what we did not foresee gets a name, a place and a way out, too. */
export function faultParts(thrown: unknown, where: string): LabErrorParts {
  const parts = errorParts(thrown);
  if (thrown instanceof LabError) return { ...parts, where: parts.where ? `${where}, ${parts.where}` : where };
  return {
    code: 'cell.draw',
    what: 'This cell could not be drawn; the others are not concerned',
    where,
    got: parts.what.slice(0, 300),
    fix: 'Try again. If it stays so, change or delete the cell: its source is below.',
  };
}

/** @param where the cell in words, e.g. "Text, cell 3" */
export function cellFault({ cell, thrown }: CellFault, where: string, retry: () => void) {
  const source = cell.kind === 'prose' ? cell.markdown : JSON.stringify(cell, null, 2);
  return html`<div class="fault">
    <lab-error .error=${faultParts(thrown, where)}></lab-error>
    <div class="row">
      <wa-button size="s" appearance="outlined" data-redraw @click=${retry}>Try again</wa-button>
    </div>
    <details>
      <summary>Source of this cell</summary>
      <pre tabindex="0" role="region" aria-label="Source of this cell">${source}</pre>
    </details>
  </div>`;
}
