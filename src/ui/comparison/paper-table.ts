/** The paper's own table, with the sampling error that its cells carry. */
import { css, html } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { evalModes } from '../../core/experiment/experiment';
import { paperBenchmarks, paperTables } from '../../core/experiment/paper';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';
import { modeTitles, tableStyles } from './table-styles';

@customElement('lab-paper-table')
export class LabPaperTable extends LabElement {
  @state() private chosen = 0;

  static override styles = [baseStyles, tableStyles, css`:host { display: block; }`];

  protected override render() {
    const note = paperBenchmarks.map(({ title, errorPoints: [a, b] }) => `${title} ±${a}–${b}`).join(', ');
    return html`
      <h3>What the paper reports</h3>
      <div class="pick">
        <wa-select size="s" label="Model in the paper" .value=${String(this.chosen)} @change=${(e: Event) => {
          this.chosen = Number((e.target as HTMLInputElement).value);
        }}>
          ${paperTables.map(({ model }, i) => html`<wa-option value=${i}>${model}</wa-option>`)}
        </wa-select>
      </div>
      <div class="pair">${paperTables.map((_, i) => this.table(i))}</div>
      <p class="note">
        Pass@1 in %, mean of two evaluation runs, no seeds and no error bars. Choosing the tasks alone moves a cell by points:
        ${note}. <a href="https://arxiv.org/abs/2607.05378" rel="noreferrer">arXiv 2607.05378v1</a>, Tables 2–4.
      </p>
    `;
  }

  private table(index: number) {
    const { model, window, rows } = paperTables[index]!;
    return html`<div class="scroll block ${index === this.chosen ? 'chosen' : ''}" tabindex="0" role="region" aria-label=${`The paper’s table: ${model}`}>
      <table>
        <caption>${model}, window ${window}</caption>
        <thead>
          <tr>
            <th rowspan="2" scope="col">Arm</th>
            ${paperBenchmarks.map(({ title }) => html`<th class="group" colspan=${evalModes.length} scope="colgroup">${title}</th>`)}
          </tr>
          <tr>${paperBenchmarks.map(() => evalModes.map((mode, i) => html`<th class=${i === 0 ? 'first' : ''} scope="col">${modeTitles[mode].short}</th>`))}</tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) => html`<tr>
              <th scope="row">${row.arm}</th>
              ${paperBenchmarks.map(({ id }) =>
                row[id].map(
                  (value, i) =>
                    html`<td class=${i === 0 ? 'first' : ''}>${value === null ? html`<span aria-label="not reported">–</span>` : value.toFixed(1)}</td>`,
                ),
              )}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }
}
