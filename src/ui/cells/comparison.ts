/** A comparison cell: loads recorded results when it comes into sight and shows them beside the paper's. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { errorParts, type LabErrorParts } from '../../core/errors';
import type { ComparisonCell } from '../../notebook/cells';
import '../comparison/arm-table';
import '../comparison/claim-list';
import type { Comparison } from '../comparison/comparison';
import '../comparison/paper-table';
import '../comparison/provenance';
import { CellQueue } from '../comparison/cell-queue';
import '../comparison/rerun';
import { loadComparison } from '../comparison/results-file';
import '../comparison/seed-figure';
import '../comparison/sweep-figure';
import '../error-panel';
import { LabElement } from '../lab-element';
import type { LabServices } from '../services';
import { Sight } from '../sight';
import { baseStyles } from '../styles';
import type { TrainerSession } from '../trainer-session';
import { experimentStyles } from './experiment-styles';

@customElement('lab-comparison')
export class LabComparison extends LabElement {
  @property({ attribute: false }) cell!: ComparisonCell;
  @property({ attribute: false }) services!: LabServices;
  @property({ attribute: false }) session!: TrainerSession;
  @state() private comparison: Comparison | null = null;
  @state() private error: LabErrorParts | null = null;
  /** What went wrong without spoiling the rest. */
  @state() private mishap: LabErrorParts | null = null;
  private queue: CellQueue | null = null;
  @state() private version = 0;
  /** Whether a folded cell was ever unfolded: until then its parts are not built. */
  @state() private opened = false;
  private readonly onQueue = () => {
    this.version++;
  };
  /** The file that is loaded or being loaded. */
  private asked: string | null = null;
  private readonly sight = new Sight(this, () => void this.load());

  static override styles = [
    baseStyles,
    experimentStyles,
    css`
      .frame { gap: 2.2rem; min-height: 8rem; }
      h2 { font: 600 1.25rem/1.3 var(--font-prose); margin: 0; }
      .about { font-family: var(--font-prose); font-size: 1.02rem; line-height: 1.6; max-width: var(--column); margin: 0.5rem 0 0; color: var(--ink-2); white-space: pre-line; }
      .parts { display: grid; grid-template-columns: minmax(0, 1fr); gap: 2.2rem; padding-top: 1.4rem; }
      summary { cursor: pointer; font-size: 0.95rem; font-weight: 600; width: max-content; max-width: 100%; padding: 0.2rem 0; }
    `,
  ];

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    // A cell that moves on the page leaves it for a moment.
    queueMicrotask(() => {
      if (!this.isConnected) void this.queue?.cancel();
    });
  }
  protected override willUpdate(changed: PropertyValues<this>): void {
    if (this.asked !== null && this.asked !== this.cell.results) {
      this.dropQueue();
      this.comparison = null;
    }
    if (changed.has('cell') && this.sight.visible) void this.load();
  }

  /** Ends what is computed of the results shown so far. */
  private dropQueue(): void {
    this.queue?.removeEventListener('change', this.onQueue);
    void this.queue?.cancel();
    this.queue = null;
  }

  private async load(): Promise<void> {
    const { results } = this.cell;
    if (this.asked === results) return;
    this.asked = results;
    this.error = null;
    this.comparison = null;
    try {
      const comparison = await loadComparison(results, this.services.fetchResults);
      if (this.asked !== results) return;
      this.comparison = comparison;
      this.dropQueue();
      this.queue = new CellQueue(comparison.experiment, () => this.session.api);
      this.queue.addEventListener('change', this.onQueue);
      void this.queue.load();
    } catch (thrown) {
      if (this.asked === results) this.error = errorParts(thrown);
    }
  }

  protected override render() {
    const { comparison, error } = this;
    return html`<div class="frame" @export-error=${(e: CustomEvent<LabErrorParts>) => {
      this.mishap = e.detail;
    }}>
      ${error ? this.failed(error) : comparison ? this.shown(comparison) : html`<p role="status" class="quiet">Loading results …</p>`}
      ${
        this.mishap
          ? html`<lab-error .error=${this.mishap} dismissible @dismiss=${() => {
              this.mishap = null;
            }}></lab-error>`
          : nothing
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

  private shown(comparison: Comparison) {
    const { title, about } = comparison.experiment;
    const header = html`<header><h2>${title}</h2><p class="about">${about}</p></header>`;
    if (!this.cell.folded) return html`${header}${this.parts(comparison)}`;
    return html`${header}
      <details @toggle=${(e: Event) => {
        this.opened ||= (e.target as HTMLDetailsElement).open;
      }}>
        <summary>All numbers: arms, claims, every seed, and any arm to run again</summary>
        <div class="parts">${this.opened ? this.parts(comparison) : nothing}</div>
      </details>`;
  }

  private parts(comparison: Comparison) {
    return html`
      <lab-arm-table .comparison=${comparison}></lab-arm-table>
      <lab-sweep-figure .comparison=${comparison}></lab-sweep-figure>
      ${comparison.followsPaper ? html`<lab-paper-table></lab-paper-table>` : nothing}
      <lab-claim-list .comparison=${comparison}></lab-claim-list>
      <lab-seed-figure .comparison=${comparison} .own=${this.queue?.results ?? []}></lab-seed-figure>
      <lab-rerun .comparison=${comparison} .queue=${this.queue} .session=${this.session} .version=${this.version}></lab-rerun>
      <lab-provenance .comparison=${comparison}></lab-provenance>
    `;
  }
}
