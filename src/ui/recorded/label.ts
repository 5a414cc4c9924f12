/** What a grey curve is: when, where and with which build it was recorded, and its file. */
import { html, type TemplateResult } from 'lit';
import { day, duration } from '../format';
import { sanitise } from '../watch/sanitise';
import type { RecordedRun } from './recorded-run';

export function recordedLabel({ entry, result }: RecordedRun): TemplateResult {
  const { createdAt, adapter, build, seed, outcome } = result;
  return html`<svg viewBox="0 0 20 8" aria-hidden="true"><line x1="0" y1="4" x2="20" y2="4" stroke="var(--recorded)" stroke-width="2.4" /></svg>Grey:
    this configuration with seed ${seed}, recorded on ${day(createdAt)}, ${sanitise(adapter)}, build ${sanitise(build)}, in ${duration(outcome.elapsedMs)}.
    <a href=${`results/${entry.name}.json`} download>Data</a>`;
}
