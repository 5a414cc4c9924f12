/** Where a recording comes from, in one line that unfolds. */
import { html, nothing, type TemplateResult } from 'lit';
import type { Recording } from '../../core/recording/recording';
import { sanitise } from '../watch/sanitise';

export function recordedLine({ provenance, task }: Recording): TemplateResult {
  const { recorded, device, command, commit, training, selection } = provenance;
  return html`<details>
    <summary>A recording, not a simulation: ${sanitise(recorded)}</summary>
    <p>Recorded on ${sanitise(recorded)}, ${sanitise(device)}, at build ${sanitise(commit)}, by <code>${sanitise(command)}</code>.
      Task: family ${sanitise(task.family)}, seed ${task.seed}, preset ${sanitise(task.preset)}. Trained policy: ${sanitise(training)}.
      ${selection ? html`How it was chosen: ${sanitise(selection)}` : nothing}</p>
  </details>`;
}
