/** The two buttons under a figure: SVG and PNG. */
import { html } from 'lit';
import { errorParts, type LabErrorParts } from '../../core/errors';
import { download } from '../download';
import { composeSvg, type Drawing, pngOf } from '../figure-export';

export interface Figure {
  readonly title: string;
  readonly note: string;
  readonly drawings: readonly Drawing[];
  /** Drawings in a row. */
  readonly columns: number;
}

/** Buttons that save what `figure` gives; a failure is fired as `export-error` (LabErrorParts). @param stem of the file names */
export function exportButtons(stem: string, figure: () => Promise<Figure>) {
  const save = async (event: Event, as: 'svg' | 'png') => {
    const button = event.currentTarget as HTMLElement;
    try {
      const { title, note, drawings, columns } = await figure();
      const svg = composeSvg(title, note, drawings, columns);
      if (as === 'svg') download(svg, `${stem}.svg`, 'image/svg+xml');
      else download(await pngOf(svg), `${stem}.png`);
    } catch (thrown) {
      const detail: LabErrorParts = errorParts(thrown);
      button.dispatchEvent(new CustomEvent('export-error', { detail, bubbles: true, composed: true }));
    }
  };
  const button = (as: 'svg' | 'png') =>
    html`<wa-button size="s" appearance="plain" data-export=${as} @click=${(e: Event) => void save(e, as)}>
      <wa-icon slot="start" name="download"></wa-icon>${as.toUpperCase()}</wa-button>`;
  return html`<div class="row exports">${button('svg')}${button('png')}</div>`;
}
