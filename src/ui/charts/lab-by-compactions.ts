/** The latest held-out evaluation, split by the compactions each instance requires: one row of bars per number. */
import { css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { styleMap } from 'lit/directives/style-map.js';
import { metricHelp } from '../../core/metrics/metrics';
import type { CurveRecord, EvalSummary, IterationRecord } from '../../core/metrics/records';
import { definitionStyles, definitionTip } from '../definition';
import { ordinal, percent } from '../format';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';

const DEFINITION =
  '0: the scripted expert solves the instance inside one window. 1, 2, …: with perfect summaries it goes through that many compactions. Held-out tasks, temperature 1.';

const LONG_DEFINITION = `${metricHelp.evalLong} Measured once, after training: what room alone would buy.`;

type Bucket = EvalSummary['byCompactions'][number] | undefined;

@customElement('lab-by-compactions')
export class LabByCompactions extends LabElement {
  @property({ attribute: false }) records: readonly IterationRecord[] = [];
  /** An earlier run, shown in grey until this one is evaluated. */
  @property({ attribute: false }) recorded: readonly CurveRecord[] = [];
  @property({ type: Number }) version = 0;

  static override styles = [
    baseStyles,
    definitionStyles,
    css`
      :host { display: block; margin-top: 1.8rem; }
      h3 { font: 600 0.875rem/1.4 var(--font-ui); margin: 0 0 0.5rem; display: flex; flex-wrap: wrap; gap: 0 0.4rem; }
      h3 small { font-weight: 400; color: var(--ink-3); }
      table { border-collapse: collapse; width: 100%; max-width: 40rem; font-size: 0.82rem; font-variant-numeric: tabular-nums; }
      th { text-align: left; font-weight: 500; padding: 0.15rem 0.8rem 0.15rem 0; white-space: nowrap; }
      thead th { color: var(--ink-3); font-weight: 400; }
      tbody th { width: 1%; }
      td { padding: 0.15rem 0.8rem 0.15rem 0; }
      :is(th, td):last-child { padding-right: 0; }
      .cell { display: grid; grid-template-columns: minmax(1rem, 1fr) 5.6rem; gap: 0.5rem; align-items: center; }
      .track { height: 0.6rem; background: var(--sunken); box-shadow: inset 0 0 0 1px var(--line); }
      .bar { height: 100%; background: var(--ink-2); }
      .single .bar { background: repeating-linear-gradient(135deg, var(--ink-2) 0 2px, transparent 2px 5px); }
      .recorded .bar { background: var(--recorded); }
      .recorded .single .bar { background: repeating-linear-gradient(135deg, var(--recorded) 0 2px, transparent 2px 5px); }
      .of { color: var(--ink-3); }
      p { font-size: 0.82rem; margin: 0.5rem 0 0; font-variant-numeric: tabular-nums; }
    `,
  ];

  protected override render() {
    const evaluated = (r: CurveRecord) => r.evalComp !== undefined && r.evalSingle !== undefined;
    const own = this.records.findLast(evaluated);
    const record = own ?? this.recorded.findLast(evaluated);
    if (!record?.evalComp || !record.evalSingle) return nothing;
    const { evalComp, evalSingle, evalLong } = record;
    return html`
      <h3>
        Success by compactions required <small>${own ? nothing : 'recorded: '}share of held-out episodes, iteration ${ordinal(record.iteration)}</small>
        ${definitionTip('Compactions required', DEFINITION)}
      </h3>
      <table class=${own ? nothing : 'recorded'}>
        <thead>
          <tr><th scope="col">Required</th><th scope="col">Compaction on</th><th scope="col">One window</th></tr>
        </thead>
        <tbody>
          ${evalComp.byCompactions.map((bucket, n) =>
            bucket.episodes === 0
              ? nothing
              : html`<tr>
                  <th scope="row">${n}</th>
                  <td>${cell(bucket)}</td>
                  <td class="single">${cell(evalSingle.byCompactions[n])}</td>
                </tr>`,
          )}
        </tbody>
      </table>
      ${
        evalLong
          ? html`<p class="long">Twice the window, compaction off: ${percent(evalLong.success)}
              <span class="of">of ${evalLong.episodes} episodes</span>
              ${definitionTip('Twice the window', LONG_DEFINITION)}</p>`
          : nothing
      }
    `;
  }
}

function cell(bucket: Bucket) {
  if (!bucket || bucket.episodes === 0) return nothing;
  const share = bucket.solved / bucket.episodes;
  return html`<div class="cell">
    <div class="track"><div class="bar" style=${styleMap({ width: `${100 * share}%` })}></div></div>
    <span>${percent(share)} <span class="of">of ${bucket.episodes}</span></span>
  </div>`;
}
