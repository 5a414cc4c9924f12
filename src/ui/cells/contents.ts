/** A contents cell: the headings of the notebook in a row. The page's address names the notebook, so each is a button. */
import { css, html } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';

export interface ContentsEntry {
  /** Key of the cell in the notebook. */
  readonly key: number;
  readonly title: string;
}

/** Asks the notebook to bring a cell into view. */
export type GoToCell = CustomEvent<number>;

@customElement('lab-contents')
export class LabContents extends LabElement {
  @property({ attribute: false }) entries: readonly ContentsEntry[] = [];

  static override styles = [
    baseStyles,
    css`
      :host { display: block; }
      ol { list-style: none; display: flex; flex-wrap: wrap; gap: 0.1rem 1.3rem; margin: 0; padding: 0; font-size: 0.9rem; line-height: 1.5; }
      button { all: unset; cursor: pointer; color: var(--ink-2); padding: 0.25rem 0; text-decoration: underline; text-decoration-color: var(--line-strong); text-underline-offset: 3px; }
      button:hover { color: var(--ink); text-decoration-color: currentColor; }
      button:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 2px; }
    `,
  ];

  protected override render() {
    if (this.entries.length === 0)
      return html`<p class="quiet">No heading yet: a text that begins with “## ” is listed here.</p>`;
    return html`<nav aria-label="Contents"><ol>
      ${this.entries.map(
        ({ key, title }) =>
          html`<li><button type="button" @click=${() => {
            const detail: GoToCell['detail'] = key;
            this.dispatchEvent(new CustomEvent('go-to-cell', { detail, bubbles: true, composed: true }));
          }}>${title}</button></li>`,
      )}
    </ol></nav>`;
  }
}
