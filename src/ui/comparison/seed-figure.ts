/** The figure of the comparison: a small panel for each chosen arm, all on the same axes, beside the reference arm's mean. */
import { css, html, nothing } from 'lit';
import { customElement, property, queryAll, state } from 'lit/decorators.js';
import type { Arm, CellResult } from '../../core/experiment/experiment';
import { definitionStyles, definitionTip } from '../definition';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';
import type { Comparison } from './comparison';
import { bandOf, type Panel, type Quantity, quantities, seedLines, sharedAxes } from './curves';
import { exportButtons } from './export-buttons';
import './seed-panel';
import { figureStyles } from './figure-styles';
import type { LabSeedPanel } from './seed-panel';

/** Width of a panel in files, px. */
const FILE_WIDTH = 320;

@customElement('lab-seed-figure')
export class LabSeedFigure extends LabElement {
  @property({ attribute: false }) comparison!: Comparison;
  /** Runs of this browser, laid over the recorded ones. */
  @property({ attribute: false }) own: readonly CellResult[] = [];
  @state() private quantity: Quantity = quantities[0]!;
  @state() private setup = '';
  /** Ids of the arms shown; null: the main ones. */
  @state() private chosen: ReadonlySet<string> | null = null;
  @queryAll('lab-seed-panel') private panels!: NodeListOf<LabSeedPanel>;

  static override styles = [
    baseStyles,
    definitionStyles,
    figureStyles,
    css`
      .controls { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 20rem)); gap: 0.7rem 1.2rem; align-items: end; margin-bottom: 0.8rem; }
      details { font-size: 0.875rem; margin-bottom: 1rem; }
      summary { cursor: pointer; color: var(--ink-2); padding: 0.2rem 0; }
      fieldset { border: 0; padding: 0.4rem 0 0; margin: 0; display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; }
      label { display: inline-flex; gap: 0.4rem; align-items: center; min-height: 1.9rem; }
      input { accent-color: var(--ink); width: 1.05rem; height: 1.05rem; }
      input:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
      .grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr)); gap: 1.4rem 1.6rem; }
      .note { margin: 0.9rem 0 0; }
    `,
  ];

  private get setupId(): string {
    const { setups } = this.comparison;
    return (setups.find(({ id }) => id === this.setup) ?? setups[0]!).id;
  }

  private shown(): readonly Arm[] {
    const { comparison, chosen, setupId } = this;
    return comparison.armsOf(setupId).filter(({ id }) => (chosen ? chosen.has(id) : comparison.isMain(id)));
  }

  private panelOf(arm: Arm): Panel {
    const { comparison, quantity, setupId } = this;
    const lines = seedLines(comparison.cells(setupId, arm.id), quantity);
    const own = this.own.findLast((run) => run.setup === setupId && run.arm === arm.id);
    return {
      arm: arm.id,
      title: arm.title,
      lines,
      band: bandOf(lines, quantity, comparison),
      own: own ? (seedLines([own], quantity)[0]?.points ?? []) : [],
    };
  }

  private choose(id: string, on: boolean): void {
    const next = new Set(this.shown().map((arm) => arm.id));
    if (on) next.add(id);
    else next.delete(id);
    this.chosen = next;
  }

  protected override render() {
    const { comparison, quantity, setupId } = this;
    const arms = this.shown();
    const panels = arms.map((arm) => this.panelOf(arm));
    const drawn = panels.filter(({ lines, own }) => lines.length > 0 || own.length > 0);
    const reference = comparison.armsOf(setupId).find(({ id }) => id === comparison.reference);
    const mean = reference ? (panels.find(({ arm }) => arm === reference.id) ?? this.panelOf(reference)).band : [];
    const axes = sharedAxes(drawn, quantity);
    return html`
      <h3>Every seed ${definitionTip(quantity.title, quantity.definition)}</h3>
      <div class="controls">
        <wa-select size="s" label="Show" .value=${quantity.id} @change=${(e: Event) => {
          const { value } = e.target as HTMLInputElement;
          this.quantity = quantities.find(({ id }) => id === value) ?? this.quantity;
        }}>${quantities.map(({ id, title }) => html`<wa-option value=${id}>${title}</wa-option>`)}</wa-select>
        <wa-select size="s" label="Setup" .value=${setupId} @change=${(e: Event) => {
          this.setup = (e.target as HTMLInputElement).value;
        }}>${comparison.setups.map(({ id, title }) => html`<wa-option value=${id}>${title}</wa-option>`)}</wa-select>
      </div>
      <details>
        <summary>Arms: ${arms.length} of ${comparison.armsOf(setupId).length} shown</summary>
        <fieldset>
          <legend class="visually-hidden">Arms to show</legend>
          ${comparison.armsOf(setupId).map(
            ({ id, title }) => html`<label>
              <input type="checkbox" .checked=${arms.some((arm) => arm.id === id)} @change=${(e: Event) =>
                this.choose(id, (e.target as HTMLInputElement).checked)} />${title}
            </label>`,
          )}
        </fieldset>
      </details>
      <div class="grid">
        ${drawn.map(
          (panel) => html`<lab-seed-panel
            .arm=${arms.find(({ id }) => id === panel.arm)}
            .panel=${panel}
            .reference=${panel.arm === reference?.id ? [] : mean}
            .quantity=${quantity}
            .axes=${axes}
          ></lab-seed-panel>`,
        )}
      </div>
      ${drawn.length < panels.length ? html`<p class="note">Not drawn, as there is nothing of it: ${missing(panels, drawn)}.</p>` : nothing}
      <p class="note">${this.caption(reference?.title)}</p>
      ${drawn.length > 0 ? exportButtons(`${comparison.experiment.id}-${setupId}-${quantity.id}`, () => this.figure()) : nothing}
    `;
  }

  private caption(reference: string | undefined): string {
    const { quantity, comparison } = this;
    return (
      `${quantity.title}, ${quantity.unit}, over ${quantity.axis}. Thin grey: each seed. Bold: their mean. Band: 95 % interval of ` +
      `the mean (${comparison.intervalNote([this.setupId])}).${reference ? ` Dotted: mean of ${reference}, for comparison.` : ''}` +
      `${this.own.length > 0 ? ' Dashed with a diamond: your own run.' : ''}`
    );
  }

  private async figure() {
    const setup = this.comparison.setups.find(({ id }) => id === this.setupId)!;
    const drawings = await Promise.all(
      [...this.panels].map(async (panel) => ({ title: panel.panel.title, svg: await panel.svg(FILE_WIDTH) })),
    );
    const title = `${this.quantity.title}: ${setup.title}`;
    return { title, note: this.caption(this.comparison.arm(this.comparison.reference)?.title), drawings, columns: 3 };
  }
}

const missing = (all: readonly Panel[], drawn: readonly Panel[]): string =>
  all
    .filter((panel) => !drawn.includes(panel))
    .map(({ title }) => title)
    .join(', ');
