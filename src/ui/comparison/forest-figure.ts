/** The figure of all claims of one kind: differences with their intervals, one row a claim and setup. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';
import { type ClaimKind, kindOf } from '../../core/experiment/verdict-words';
import { SeenDrawing } from '../charts/seen-drawing';
import { count } from '../format';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';
import { exportButtons } from './export-buttons';
import { figureStyles } from './figure-styles';
import { type ForestRow, forestPanels } from './forest-rows';

/** Width in files, px. */
const FILE_WIDTH = 1040;

@customElement('lab-forest-figure')
export class LabForestFigure extends LabElement {
  @property({ attribute: false }) rows: readonly ForestRow[] = [];
  @property() kind: ClaimKind = 'paper';
  /** Success that differs by no more is as good as equal. */
  @property({ type: Number }) margin = 0;
  @property() note = '';
  @query('.drawing') private drawing!: HTMLElement | null;
  private readonly seen = new SeenDrawing(this, () => void this.redraw().catch((thrown) => this.faulted(thrown)));

  static override styles = [
    baseStyles,
    figureStyles,
    css`
      .drawing { min-height: 12rem; display: grid; gap: 0.4rem; }
      .note { margin: 0.6rem 0 0.2rem; }
    `,
  ];

  protected override firstUpdated(): void {
    if (this.drawing) this.seen.watch(this.drawing);
  }
  protected override updated(changed: PropertyValues<this>): void {
    if (changed.size > 0) this.seen.request();
  }

  private async redraw(): Promise<void> {
    const drawings = await this.drawings(this.seen.width);
    this.drawing?.replaceChildren(...drawings.map(({ svg }) => svg));
  }

  private async drawings(width: number) {
    const { drawForest } = await import('../charts/forest');
    return forestPanels(this.rows, this.kind, this.margin).map((panel) => ({
      title: panel.unit,
      svg: drawForest(panel, width),
    }));
  }

  private get own(): readonly ForestRow[] {
    return this.rows.filter(({ decided }) => kindOf(decided.claim) === this.kind);
  }

  /** How often each verdict was reached. */
  private tally(): string {
    const counts = new Map<string, number>();
    for (const { decided } of this.own) counts.set(decided.verdict, (counts.get(decided.verdict) ?? 0) + 1);
    const what = this.kind === 'paper' ? 'the paper’s claims' : 'our questions';
    return `${count(this.own.length, 'comparison')} on ${what}: ${[...counts].map(([word, n]) => `${n} ${word}`).join(', ')}.`;
  }

  protected override render() {
    if (this.own.length === 0) return nothing;
    const tally = this.tally();
    return html`
      <p class="note">${tally}</p>
      <div class="drawing" role="img" aria-label=${`Differences with their 95 % intervals. ${tally} The numbers are in the table below.`}></div>
      ${exportButtons(`claims-${this.kind}`, async () => ({
        title: tally,
        note: this.note,
        drawings: await this.drawings(FILE_WIDTH),
        columns: 1,
      }))}
    `;
  }
}
