/** One arm of the figure: its title, the drawing, and what it says at the end in numbers. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';
import type { Arm } from '../../core/experiment/experiment';
import { SeenDrawing } from '../charts/seen-drawing';
import { definitionStyles, definitionTip } from '../definition';
import { compact } from '../format';
import { LabElement } from '../lab-element';
import { LazyPart } from '../lazy-part';
import '../part-fault';
import { baseStyles } from '../styles';
import { type Axes, type BandPoint, type Panel, panelWords, type Quantity, quantityText } from './curves';
import { figureStyles } from './figure-styles';

const HEIGHT = 150;
export const seedCurvesPart = new LazyPart('The curves', () => import('../charts/seed-curves'));

@customElement('lab-seed-panel')
export class LabSeedPanel extends LabElement {
  @property({ attribute: false }) arm!: Arm;
  @property({ attribute: false }) panel!: Panel;
  /** Mean of the arm the others are compared with. */
  @property({ attribute: false }) reference: readonly BandPoint[] = [];
  @property({ attribute: false }) quantity!: Quantity;
  @property({ attribute: false }) axes!: Axes;
  @query('.drawing') private drawing!: HTMLElement;
  private readonly seen = new SeenDrawing(this, () => void this.redraw());

  static override styles = [
    baseStyles,
    definitionStyles,
    figureStyles,
    css`
      :host { min-width: 0; }
      h4 { font: 600 0.875rem/1.3 var(--font-ui); margin: 0; display: flex; align-items: center; gap: 0.3rem; min-height: 1.6rem; }
      lab-part-fault[failed] + .drawing { display: none; }
      .drawing { height: ${HEIGHT}px; }
      p { margin: 0.1rem 0 0; font-size: 0.78rem; color: var(--ink-2); font-variant-numeric: tabular-nums; }
      b { color: var(--ink); font-weight: 600; }
    `,
  ];

  protected override firstUpdated(): void {
    this.seen.watch(this.drawing);
  }
  protected override updated(changed: PropertyValues<this>): void {
    if (changed.size > 0) this.seen.request();
  }

  private async redraw(): Promise<void> {
    if (this.isConnected && (await seedCurvesPart.get())) this.drawing.replaceChildren(await this.svg(this.seen.width));
  }

  /** The drawing alone, also for files. @param width px @throws LabError page.part-missing */
  async svg(width: number): Promise<Element> {
    const { drawSeedCurves } = await seedCurvesPart.need();
    return drawSeedCurves(this.panel, this.reference, this.quantity, this.axes, width, HEIGHT);
  }

  protected override render() {
    const { panel, quantity, arm } = this;
    const last = panel.band.at(-1);
    const mine = panel.own.at(-1);
    const text = (value: number) => quantityText(quantity, value);
    return html`
      <h4>${panel.title}${definitionTip(panel.title, arm.isolates)}</h4>
      <lab-part-fault .of=${seedCurvesPart} @part-ready=${() => this.seen.request()}></lab-part-fault>
      <div class="drawing" role="img" aria-label=${panelWords(panel, quantity)}></div>
      <p aria-hidden="true">
        ${
          last
            ? html`<b>${text(last.mean)}</b>${last.low === null || last.high === null ? nothing : html` [${text(last.low)}, ${text(last.high)}]`}
                at ${compact(last.x)}, n ${last.n}`
            : 'no data'
        }${mine ? html` · yours <b>${text(mine.y)}</b> at ${compact(mine.x)}` : nothing}
      </p>
    `;
  }
}
