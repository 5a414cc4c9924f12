/** The curves of a run as small multiples with one shared cursor, or as a table; and as a CSV file. */
import { css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { CurveRecord, IterationRecord } from '../../core/metrics/records';
import { download } from '../download';
import { ordinal } from '../format';
import { LabElement } from '../lab-element';
import { recordedLabel } from '../recorded/label';
import type { RecordedRun } from '../recorded/recorded-run';
import { baseStyles } from '../styles';
import { chartSpecs, formatValue, type SeriesSpec, toCsv } from './chart-specs';
import './lab-by-compactions';
import './lab-chart';

/** Rows shown at once in the table; the file has all of them. */
const MAX_ROWS = 200;

@customElement('lab-charts')
export class LabCharts extends LabElement {
  @property({ attribute: false }) records: readonly IterationRecord[] = [];
  /** The shipped run of the same configuration and seed. */
  @property({ attribute: false }) recorded: RecordedRun | null = null;
  @property({ type: Number }) version = 0;
  @property({ type: Number }) iterations = 1;
  /** Stem of the file's name. */
  @property() name = 'run';
  @state() private table = false;
  @state() private cursor: number | null = null;

  static override styles = [
    baseStyles,
    css`
      :host { display: block; }
      .head { display: flex; flex-wrap: wrap; align-items: center; gap: 0.4rem 0.6rem; margin-bottom: 0.6rem; }
      h3 { font: 600 1rem/1.3 var(--font-ui); margin: 0; }
      .recorded { font-size: 0.82rem; line-height: 1.5; color: var(--ink-2); margin: 0 0 0.9rem; max-width: 62rem; overflow-wrap: anywhere; }
      .recorded svg { width: 20px; height: 8px; margin-right: 0.35rem; vertical-align: middle; }
      .recorded a { color: inherit; }
      .grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); gap: 1.6rem 1.8rem; }
      .scroll { overflow: auto; max-height: 28rem; border: 1px solid var(--line); border-radius: 6px; }
      table { border-collapse: collapse; font-size: 0.82rem; font-variant-numeric: tabular-nums; width: max-content; min-width: 100%; }
      caption { text-align: left; padding: 0.5rem 0.7rem; color: var(--ink-2); }
      th, td { padding: 0.3rem 0.7rem; text-align: right; white-space: nowrap; }
      thead th { position: sticky; top: 0; background: var(--paper); border-bottom: 1px solid var(--line-strong); vertical-align: bottom; font-weight: 600; }
      thead small { display: block; font-weight: 400; color: var(--ink-3); }
      tbody th { font-weight: 500; }
      tbody tr:nth-child(even) { background: var(--sunken); }
    `,
  ];

  private get earlier(): readonly CurveRecord[] {
    return this.recorded?.result.iterations ?? [];
  }
  /** The run that is read out and listed. */
  private get lead(): readonly CurveRecord[] {
    return this.records.length > 0 ? this.records : this.earlier;
  }

  /** A result file keeps only some metrics: until there is a run of one's own, the others have no place. */
  private known(series: SeriesSpec): boolean {
    if (this.records.length > 0 || !this.recorded) return true;
    return this.earlier.some((record) => series.value(record) !== null);
  }

  protected override render() {
    const at = this.cursor === null ? undefined : this.lead[this.cursor];
    return html`
      <div class="head">
        <h3>Learning curves</h3>
        <span class="quiet num">${at ? `iteration ${ordinal(at.iteration)}` : this.records.length > 0 ? 'newest values' : this.recorded ? 'last values, recorded' : ''}</span>
        <span class="grow"></span>
        <wa-button size="s" appearance="plain" aria-pressed=${this.table} @click=${() => {
          this.table = !this.table;
        }}>
          <wa-icon slot="start" name=${this.table ? 'chart' : 'table'}></wa-icon>${this.table ? 'Charts' : 'Table'}
        </wa-button>
        <wa-button
          size="s"
          appearance="plain"
          ?disabled=${this.records.length === 0}
          @click=${() => download(toCsv(this.records), `${this.name}.csv`, 'text/csv')}
        >
          <wa-icon slot="start" name="download"></wa-icon>CSV
        </wa-button>
      </div>
      ${this.recorded ? html`<p class="recorded">${recordedLabel(this.recorded)}</p>` : nothing}
      ${this.table ? this.rows() : this.charts()}
      <lab-by-compactions .records=${this.records} .recorded=${this.earlier} .version=${this.version}></lab-by-compactions>
    `;
  }

  private charts() {
    return html`<div class="grid" @cursor=${(e: CustomEvent<number | null>) => {
      this.cursor = e.detail;
    }}>
      ${chartSpecs
        .filter(({ series }) => series.some((s) => this.known(s)))
        .map(
          (spec) => html`<lab-chart
          .spec=${spec}
          .records=${this.records}
          .recorded=${this.earlier}
          .version=${this.version}
          .iterations=${this.iterations}
          .cursor=${this.cursor}
        ></lab-chart>`,
        )}
    </div>`;
  }

  private rows() {
    const columns = chartSpecs.flatMap((spec) =>
      spec.series.filter((series) => this.known(series)).map((series) => ({ spec, series })),
    );
    const { lead } = this;
    const shown = lead.slice(-MAX_ROWS);
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Learning curves as a table">
      <table>
        <caption>
          ${lead === this.earlier ? 'The recorded run, one' : 'One'} row per iteration${shown.length < lead.length ? `, the last ${MAX_ROWS} of ${lead.length}; the CSV file has all` : ''}.
        </caption>
        <thead>
          <tr>
            <th scope="col">Iteration</th>
            ${columns.map(
              ({ spec, series }) =>
                html`<th scope="col">${spec.title}<small>${spec.series.length > 1 ? series.label : spec.unit}</small></th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            (record) => html`<tr>
              <th scope="row">${ordinal(record.iteration)}</th>
              ${columns.map(({ spec, series }) => html`<td>${formatValue(spec, series.value(record))}</td>`)}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }
}
