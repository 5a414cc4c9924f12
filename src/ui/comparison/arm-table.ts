/** Our table in the paper's layout: arms down, setups × single, comp, long across; the mean over seeds and its interval. */
import { css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { type Arm, type EvalMode, evalModes, type Setup } from '../../core/experiment/experiment';
import type { ArmSample } from '../../core/experiment/verdicts';
import { definitionStyles, definitionTip } from '../definition';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';
import type { Comparison } from './comparison';
import { modeTitles, tableStyles } from './table-styles';

/** A share in percent, without the sign: the caption says it. */
const points = (share: number): string => (100 * share).toFixed(1);

@customElement('lab-arm-table')
export class LabArmTable extends LabElement {
  @property({ attribute: false }) comparison!: Comparison;
  @state() private chosen = '';

  static override styles = [
    baseStyles,
    definitionStyles,
    tableStyles,
    css`
      :host { display: block; }
      .arm { display: flex; align-items: center; gap: 0.25rem; }
      td b { font-weight: 600; }
      .many td small { display: block; }
      .many thead th.group { white-space: normal; }
      .short { color: var(--ink-3); }
    `,
  ];

  protected override render() {
    const { setups, arms } = this.comparison;
    const chosen = setups.some(({ id }) => id === this.chosen) ? this.chosen : setups[0]!.id;
    const shown = (setup: Setup) => (setup.id === chosen ? 'chosen' : '');
    return html`
      <h3>What came out here</h3>
      <div class="pick">
        <wa-select size="s" label="Setup" .value=${chosen} @change=${(e: Event) => {
          this.chosen = (e.target as HTMLInputElement).value;
        }}>
          ${setups.map(({ id, title }) => html`<wa-option value=${id}>${title}</wa-option>`)}
        </wa-select>
      </div>
      <div class="scroll" tabindex="0" role="region" aria-label="Success by arm and setup">
        <table class=${setups.length > 2 ? 'many' : ''}>
          <thead>
            <tr>
              <th rowspan="2" scope="col">Arm</th>
              ${setups.map((setup) => html`<th class="group block ${shown(setup)}" colspan="3" scope="colgroup">${setup.title}</th>`)}
            </tr>
            <tr>
              ${setups.map((setup) =>
                evalModes.map(
                  (mode, i) => html`<th scope="col" class="block ${shown(setup)} ${i === 0 ? 'first' : ''}">
                    <abbr title=${modeTitles[mode].definition}>${modeTitles[mode].short}</abbr>
                  </th>`,
                ),
              )}
            </tr>
          </thead>
          <tbody>
            ${arms.map(
              (arm) => html`<tr>
                <th scope="row"><span class="arm">${arm.title}${definitionTip(arm.title, arm.isolates)}</span></th>
                ${setups.map((setup) =>
                  evalModes.map(
                    (mode, i) =>
                      html`<td class="block ${shown(setup)} ${i === 0 ? 'first' : ''}">${this.value(setup, arm, mode)}</td>`,
                  ),
                )}
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <p class="note">
        Success on held-out tasks in %: mean over seeds ± half of the 95 % interval of that mean (${this.comparison.intervalNote()}).
        ${this.comparison.seedsNote}, unless a small number says otherwise. single: ${modeTitles.single.definition} comp:
        ${modeTitles.comp.definition} long: ${modeTitles.long.definition}
      </p>
    `;
  }

  private value(setup: Setup, arm: Arm, mode: EvalMode) {
    const stat = this.comparison.sample(setup.id, arm.id, mode);
    if (stat === null) return html`<span class="short" aria-label="not part of the experiment">·</span>`;
    if (stat.mean === null) return html`<span class="short" title="Not run yet" aria-label="not run yet">–</span>`;
    return html`<b>${points(stat.mean)}</b> ${this.spread(setup, stat)}`;
  }

  private spread(setup: Setup, { interval, n }: ArmSample) {
    const few = n < this.comparison.seedsOf(setup) ? html` <small class="short">n ${n}</small>` : nothing;
    if (!interval) return few;
    return html`<small>± ${points((interval.high - interval.low) / 2)}</small>${few}`;
  }
}
