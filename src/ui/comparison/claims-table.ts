/** The numbers of the figure of all claims. */
import { html } from 'lit';
import { difference, pValue, unitOf } from './difference';
import type { ForestRow } from './forest-rows';

export function claimsTable(rows: readonly ForestRow[]) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Numbers of all claims">
    <table>
      <thead><tr>
        <th scope="col">Claim or question</th><th scope="col">Setup</th><th scope="col" class="number">Difference</th>
        <th scope="col" class="number">95 % interval</th><th scope="col">Unit</th><th scope="col" class="number">n</th>
        <th scope="col" class="number">p</th><th scope="col" class="number">Holm p</th><th scope="col">Verdict</th>
        <th scope="col">Experiment</th>
      </tr></thead>
      <tbody>${rows.map(({ decided, experiment, setup, detail }) => {
        const { claim, mean, interval, n, signFlip, adjustedP, verdict } = decided;
        const say = (value: number) => difference(decided, value);
        return html`<tr>
          <th scope="row">${claim.text}</th><td>${setup.title}</td>
          <td class="number">${mean === null ? '–' : say(mean)}</td>
          <td class="number">${interval ? `[${say(interval.low)}, ${say(interval.high)}]` : '–'}</td>
          <td>${unitOf(decided)}</td><td class="number">${n}</td>
          <td class="number">${pValue(signFlip?.p ?? null)}</td><td class="number">${pValue(adjustedP)}</td>
          <td>${verdict}${detail ? ` (${detail})` : ''}</td>
          <td>${experiment.title}</td>
        </tr>`;
      })}</tbody>
    </table>
  </div>`;
}
