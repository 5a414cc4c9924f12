/** Where the numbers come from, what is missing, and all of them as files. */
import { css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { resultsCsv } from '../../core/experiment/csv';
import type { CellResult } from '../../core/experiment/experiment';
import { download } from '../download';
import { compact, count, duration, shortDate } from '../format';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';
import type { Comparison } from './comparison';

/** Different values in order of appearance. */
const distinct = <T>(cells: readonly CellResult[], of: (cell: CellResult) => T) => [...new Set(cells.map(of))];

@customElement('lab-provenance')
export class LabProvenance extends LabElement {
  @property({ attribute: false }) comparison!: Comparison;

  static override styles = [
    baseStyles,
    css`
      :host { display: block; font-size: 0.82rem; }
      h3 { font: 600 1rem/1.3 var(--font-ui); margin: 0 0 0.5rem; }
      dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.2rem 1rem; margin: 0; }
      dt { color: var(--ink-3); }
      dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
      code { font-family: var(--font-mono); font-size: 0.92em; }
      .exports { margin-top: 0.6rem; }
    `,
  ];

  protected override render() {
    const { results, experiment, missing } = this.comparison;
    const { cells } = results;
    const hours = cells.reduce((sum, { elapsedMs }) => sum + elapsedMs, 0);
    const tokens = cells.reduce((sum, { envTokens }) => sum + envTokens, 0);
    const dates = cells.map(({ createdAt }) => createdAt).filter(Boolean).sort(); // biome-ignore format: one line
    const alarms = cells.filter((cell) => Object.keys(cell.alarms).length > 0);
    const episodes = distinct(cells, ({ evaluation }) => evaluation.comp.episodes);
    const row = (term: string, value: unknown) => html`<dt>${term}</dt><dd>${value}</dd>`;
    return html`
      <h3>Where this comes from</h3>
      <dl>
        ${row('Experiment', html`<code>${experiment.id}</code>: ${count(experiment.arms.length, 'arm')}, ${count(experiment.setups.length, 'setup')}, up to ${count(experiment.seeds, 'seed')} over ${count(experiment.warmStarts, 'warm start')}`)}
        ${row('Cells', `${cells.length} (setup × arm × seed), ${episodes.map((n) => compact(n, 4)).join(' or ')} held-out episodes in each of three evaluations`)}
        ${missing.length > 0 ? row('Missing', missing.map(({ setup, arm, seeds }) => `${arm.title} in ${setup.title}: ${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(', ')}`).join('; ')) : row('Missing', 'nothing')}
        ${row('Cost', `${duration(hours)} of computing in all, ${compact(tokens)} env tokens of training`)}
        ${row('Adapter', distinct(cells, ({ adapter }) => adapter).join('; '))}
        ${row('Build', distinct(cells, ({ build }) => build).join(', '))}
        ${dates.length > 0 ? row('When', `${shortDate(dates[0]!)} to ${shortDate(dates.at(-1)!)}`) : nothing}
        ${row('Command', html`<code>${cells[0]?.command ?? '–'}</code>${cells.length > 1 ? ' and so on, one for each cell' : ''}`)}
        ${alarms.length > 0 ? row('Alarms', `in ${count(alarms.length, 'cell')}; the files say which`) : nothing}
      </dl>
      <div class="row exports">
        <wa-button size="s" appearance="plain" data-export="csv" @click=${() => download(resultsCsv(cells), `${experiment.id}.csv`, 'text/csv')}>
          <wa-icon slot="start" name="download"></wa-icon>CSV, every cell</wa-button>
        <wa-button size="s" appearance="plain" data-export="json" @click=${() => download(`${JSON.stringify(results)}\n`, `${experiment.id}.json`, 'application/json')}>
          <wa-icon slot="start" name="download"></wa-icon>JSON</wa-button>
      </div>
    `;
  }
}
