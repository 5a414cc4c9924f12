/** A prose cell: rendered Markdown, or its source in a text area. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import type { ProseCell } from '../../notebook/cells';
import { limits } from '../../notebook/limits';
import { formulaStyles } from '../formula-styles';
import { LabElement } from '../lab-element';
import type { LazyPart } from '../lazy-part';
import { missingPart, renderMarkdown } from '../markdown';
import '../part-fault';
import { baseStyles } from '../styles';

@customElement('lab-prose')
export class LabProse extends LabElement {
  @property({ attribute: false }) cell!: ProseCell;
  @property({ type: Boolean }) editing = false;
  @query('.prose') private prose!: HTMLElement | null;
  /** What the formulas of this text want. */
  @state() private missing: LazyPart<unknown> | null = null;
  private wanted = 0;

  static override styles = [
    baseStyles,
    css`
      :host { display: block; }
      .prose { font-family: var(--font-prose); font-size: clamp(1.06rem, 1rem + 0.3vw, 1.2rem); line-height: 1.62; hanging-punctuation: first; text-wrap: pretty; overflow-wrap: break-word; min-height: 1em; }
      .prose > :first-child { margin-top: 0; }
      .prose > :last-child { margin-bottom: 0; }
      h1, h2, h3, h4 { font-family: var(--font-prose); font-weight: 600; line-height: 1.25; letter-spacing: -0.01em; margin: 1.6em 0 0.5em; text-wrap: balance; }
      h1 { font-size: 1.7em; }
      h2 { font-size: 1.38em; }
      h3 { font-size: 1.15em; }
      p, ul, ol, blockquote { margin: 0 0 0.9em; }
      li { margin: 0.25em 0; }
      code, pre { font-family: var(--font-mono); font-size: 0.86em; background: var(--sunken); border-radius: 4px; }
      code { padding: 0.1em 0.3em; }
      pre { padding: 0.8em 1em; overflow-x: auto; }
      pre code { padding: 0; font-size: 1em; }
      blockquote { margin-left: 0; padding-left: 1em; border-left: 3px solid var(--line); color: var(--ink-2); }
      hr { border: 0; border-top: 1px solid var(--line); margin: 2em 0; }
      table { border-collapse: collapse; font-family: var(--font-ui); font-size: 0.85em; display: block; overflow-x: auto; }
      th, td { padding: 0.35em 0.8em; border-bottom: 1px solid var(--line); text-align: left; }
      .katex { font-size: 1.06em; }
      .katex-display { overflow-x: auto; overflow-y: hidden; padding: 0.3em 0; margin: 1em 0; }
      wa-textarea::part(textarea) { font-family: var(--font-mono); font-size: 0.9rem; line-height: 1.55; }
      .hint { color: var(--ink-3); font-size: 0.8rem; margin: 0.4rem 0 0; font-family: var(--font-ui); }
      .formula-fault { color: var(--danger); font: 0.85rem/1.45 var(--font-ui); }
      lab-part-fault { margin-bottom: 0.8rem; }
      .placeholder { color: var(--ink-3); font-style: italic; }
    `,
  ];

  protected override updated(changed: PropertyValues<this>): void {
    if (!this.editing && (changed.has('cell') || changed.has('editing'))) this.draw();
    if (changed.has('editing') && this.editing)
      void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('wa-textarea')?.focus());
  }

  private readonly draw = (): void => {
    this.show().catch((thrown) => this.faulted(thrown));
  };

  private async show(): Promise<void> {
    const turn = ++this.wanted;
    const content = await renderMarkdown(this.cell.markdown);
    if (turn !== this.wanted || !this.prose) return;
    if (content.querySelector('.katex')) await this.adoptFormulaStyles();
    this.missing = missingPart(content);
    this.prose.replaceChildren(content);
    for (const math of this.prose.querySelectorAll<HTMLElement>('.katex-display, pre')) {
      // What can be scrolled must be reachable by keyboard.
      if (math.scrollWidth > math.clientWidth) math.tabIndex = 0;
    }
    this.dispatchEvent(new Event('prose-rendered', { bubbles: true, composed: true }));
  }

  private async adoptFormulaStyles(): Promise<void> {
    const sheet = await formulaStyles();
    const root = this.renderRoot as ShadowRoot;
    if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [sheet, ...root.adoptedStyleSheets];
  }

  protected override render() {
    if (!this.editing)
      return this.cell.markdown.trim() === ''
        ? html`<div class="prose"></div><p class="placeholder prose-empty">An empty text. Press the pencil to write.</p>`
        : html`${this.missing ? html`<lab-part-fault .of=${this.missing} @part-ready=${this.draw}></lab-part-fault>` : nothing}<div class="prose"></div>`;
    return html`
      <wa-textarea
        label="Text, in Markdown"
        resize="auto"
        rows="4"
        maxlength=${limits.proseChars}
        .value=${this.cell.markdown}
        @input=${(e: Event) =>
          this.dispatchEvent(
            new CustomEvent('cell-change', {
              detail: { ...this.cell, markdown: (e.target as HTMLTextAreaElement).value },
              bubbles: true,
              composed: true,
            }),
          )}
        @keydown=${(e: KeyboardEvent) => {
          if (e.key === 'Escape' || (e.key === 'Enter' && (e.ctrlKey || e.metaKey)))
            this.dispatchEvent(new Event('cell-done', { bubbles: true, composed: true }));
        }}
      ></wa-textarea>
      <p class="hint">Formulas go between dollar signs: <code>$\\gamma\\lambda$</code>. Esc or Ctrl + Enter ends editing.</p>
    `;
  }
}
