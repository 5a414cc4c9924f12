/** The numbers of the figure of all claims. */
import { html } from 'lit';
import { kindOf, kindTitles } from '../../core/experiment/verdict-words';
import { difference, pValue, unitOf } from './difference';
import type { ForestRow } from './forest-rows';

export function claimsTable(rows: readonly ForestRow[]) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Numbers of all claims">
    <table>
      <thead><tr>
        <th scope="col">Claim or question</th><th scope="col">Setup</th><th scope="col">Experiment</th><th scope="col">Who says it</th>
        <th scope="col">Difference</th><th scope="col">95 % interval</th><th scope="col">Unit</th><th scope="col">n</th>
        <th scope="col">p</th><th scope="col">Holm p</th><th scope="col">Verdict</th>
      </tr></thead>
      <tbody>${rows.map(({ decided, experiment, setup, detail }) => {
        const { claim, mean, interval, n, signFlip, adjustedP, verdict } = decided;
        const say = (value: number) => difference(decided, value);
        return html`<tr>
          <th scope="row">${claim.text}</th><td class="words">${setup.title}</td><td class="words">${experiment.title}</td>
          <td class="words">${kindTitles[kindOf(claim)]}</td>
          <td>${mean === null ? '–' : say(mean)}</td><td>${interval ? `[${say(interval.low)}, ${say(interval.high)}]` : '–'}</td>
          <td class="words">${unitOf(decided)}</td><td>${n}</td><td>${pValue(signFlip?.p ?? null)}</td><td>${pValue(adjustedP)}</td>
          <td class="words">${verdict}${detail ? ` (${detail})` : ''}</td>
        </tr>`;
      })}</tbody>
    </table>
  </div>`;
}
