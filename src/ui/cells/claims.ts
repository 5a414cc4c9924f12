/** A claims cell: loads several files of results and shows all their claims in one figure. */
import { css, html, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { errorParts, type LabErrorParts } from '../../core/errors';
import { kindOf } from '../../core/experiment/verdict-words';
import type { ClaimsCell } from '../../notebook/cells';
import { claimsTable } from '../comparison/claims-table';
import type { Comparison } from '../comparison/comparison';
import '../comparison/forest-figure';
import { forestRows } from '../comparison/forest-rows';
import { loadComparison } from '../comparison/results-file';
import '../error-panel';
import { LabElement } from '../lab-element';
import type { LabServices } from '../services';
import { Sight } from '../sight';
import { baseStyles } from '../styles';
import { experimentStyles } from './experiment-styles';

@customElement('lab-claims')
export class LabClaims extends LabElement {
  @property({ attribute: false }) cell!: ClaimsCell;
  @property({ attribute: false }) services!: LabServices;
  @state() private comparisons: readonly Comparison[] | null = null;
  @state() private error: LabErrorParts | null = null;
  @state() private mishap: LabErrorParts | null = null;
  /** What unfolds is built when it is first asked for: a hundred rows. */
  @state() private opened: ReadonlySet<string> = new Set();
  /** The files that are loaded or being loaded. */
  private asked: string | null = null;
  private readonly sight = new Sight(this, () => void this.load());

  static override styles = [
    baseStyles,
    experimentStyles,
    css`
      .frame { gap: 0.9rem; min-height: 8rem; }
      h2 { font: 600 1.1rem/1.3 var(--font-prose); margin: 0; }
      .how { font-size: 0.85rem; line-height: 1.5; color: var(--ink-2); margin: 0; max-width: 52rem; }
      summary { cursor: pointer; font-size: 0.9rem; font-weight: 600; width: max-content; max-width: 100%; padding: 0.2rem 0; }
      .scroll { overflow: auto; max-height: 32rem; border: 1px solid var(--line); border-radius: 6px; margin-top: 0.4rem; }
      table { border-collapse: collapse; font-size: 0.8rem; font-variant-numeric: tabular-nums; }
      th, td { padding: 0.3rem 0.6rem; text-align: left; vertical-align: baseline; font-weight: 400; min-width: 6.5rem; }
      tbody th { min-width: 14rem; }
      th.number, td.number { text-align: right; white-space: nowrap; min-width: 0; }
      thead th { position: sticky; top: 0; background: var(--paper); border-bottom: 1px solid var(--line-strong); font-weight: 600; }
      tbody tr:nth-child(even) { background: var(--sunken); }
    `,
  ];

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('cell') && this.sight.visible) void this.load();
  }

  private async load(): Promise<void> {
    const names = this.cell.results;
    const asked = names.join(' ');
    if (this.asked === asked) return;
    this.asked = asked;
    this.error = null;
    this.comparisons = null;
    try {
      const loaded = await Promise.all(names.map((name) => loadComparison(name, this.services.fetchResults)));
      if (this.asked === asked) this.comparisons = loaded;
    } catch (thrown) {
      if (this.asked === asked) this.error = errorParts(thrown);
    }
  }

  protected override render() {
    const { comparisons, error } = this;
    return html`<div class="frame" @export-error=${(e: CustomEvent<LabErrorParts>) => {
      this.mishap = e.detail;
    }}>
      <h2>Every claim in one figure</h2>
      ${error ? this.failed(error) : comparisons ? this.shown(comparisons) : html`<p role="status" class="quiet">Loading results …</p>`}
      ${
        this.mishap
          ? html`<lab-error .error=${this.mishap} dismissible @dismiss=${() => {
              this.mishap = null;
            }}></lab-error>`
          : ''
      }
    </div>`;
  }

  private failed(error: LabErrorParts) {
    return html`<div>
      <lab-error .error=${error}></lab-error>
      <p><wa-button size="s" appearance="outlined" data-again @click=${() => {
        this.asked = null;
        void this.load();
      }}>Try again</wa-button></p>
    </div>`;
  }

  private shown(comparisons: readonly Comparison[]) {
    const rows = forestRows(comparisons);
    const margin = comparisons[0]?.margin ?? 0;
    const note = `Mean paired difference over seeds and its 95 % interval, right of zero in the direction of the claim. Filled: decided; hollow: undecided. Grey: ±${100 * margin} points, what counts as no difference.`;
    const figure = (kind: 'paper' | 'question') =>
      html`<lab-forest-figure data-kind=${kind} .kind=${kind} .rows=${rows} .margin=${margin} .note=${note}></lab-forest-figure>`;
    const questions = new Set(
      rows.flatMap(({ decided, experiment }) =>
        kindOf(decided.claim) === 'question' ? [`${experiment.id} ${decided.claim.id}`] : [],
      ),
    ).size;
    return html`
      <p class="how">${note}</p>
      ${figure('paper')}
      ${questions > 0 ? this.fold('questions', `Our own questions (${questions}), in the same way`, () => figure('question')) : ''}
      ${this.fold('numbers', `The numbers as a table (${rows.length} rows)`, () => claimsTable(rows))}
    `;
  }

  private fold(name: string, title: string, content: () => unknown) {
    return html`<details data-fold=${name} @toggle=${(e: Event) => {
      if ((e.target as HTMLDetailsElement).open) this.opened = new Set([...this.opened, name]);
    }}>
      <summary>${title}</summary>
      ${this.opened.has(name) ? content() : ''}
    </details>`;
  }
}
