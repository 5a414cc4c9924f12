/** What a run that has not begun will show, and how long it takes on this machine, as far as that can be known. */
import { css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { RunConfig } from '../../core/config/config';
import type { RunSummary } from '../../core/protocol/protocol';
import type { RunEntry } from '../../core/recording/run-result';
import { duration } from '../format';
import { LabElement } from '../lab-element';
import type { TrainerSession } from '../trainer-session';
import { sanitise } from '../watch/sanitise';
import { comparable, timeByPace } from './pace';

@customElement('lab-expectation')
export class LabExpectation extends LabElement {
  @property({ attribute: false }) session!: TrainerSession;
  @property({ attribute: false }) config!: RunConfig;
  @property() preset = '';
  /** Recorded runs of this site. */
  @property({ attribute: false }) index: readonly RunEntry[] = [];
  /** The recorded run of exactly this is shown: only the time here is left to say. */
  @property({ type: Boolean }) recorded = false;
  /** The kept run whose metrics were asked for. */
  private asked = '';
  private readonly onSession = () => this.requestUpdate();

  static override styles = css`
    :host([hidden]) { display: none !important; }
    :host { display: block; font-size: 0.875rem; line-height: 1.5; color: var(--ink-2); }
    p { margin: 0; max-width: 50rem; text-wrap: pretty; overflow-wrap: anywhere; }
  `;

  override connectedCallback(): void {
    super.connectedCallback();
    this.session.addEventListener('change', this.onSession);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.session.removeEventListener('change', this.onSession);
  }

  /** The newest run kept here that takes about as long for an episode. */
  private kept(): RunSummary | undefined {
    return this.session.stored
      .filter(({ header, iterations }) => iterations > 0 && comparable(header.config, this.config))
      .sort((a, b) => b.header.createdAt.localeCompare(a.header.createdAt))[0];
  }

  /** By a run of one's own. */
  private timeHere(): string {
    const kept = this.kept();
    if (!kept) return '';
    const { runId, config, adapter } = kept.header;
    const records = this.session.run(runId)?.records ?? [];
    if (records.length === 0 && this.asked !== runId) {
      this.asked = runId;
      // Whoever opens that run is told what is wrong with it; here it only means that nothing is known.
      void this.session.load(runId).catch(() => {});
    }
    const ms = timeByPace(records, config, this.config);
    return ms === null
      ? ''
      : `Here it takes about ${duration(ms)}, at the pace of your own run on ${sanitise(adapter)}.`;
  }

  /** By a recorded run, on whatever it ran on. */
  private timeThere(): string {
    const run = this.index.find(({ preset }) => preset === this.preset);
    const tell = 'How long it takes here, the first iteration will tell.';
    return run
      ? `A recorded run of this preset, ${run.iterations} iterations, took ${duration(run.elapsedMs)} on ${sanitise(run.adapter)}. ${tell}`
      : tell;
  }

  protected override render() {
    const here = this.timeHere();
    // Without a word it takes no room.
    this.hidden = this.recorded && !here;
    if (this.recorded) return here ? html`<p class="num">${here}</p>` : nothing;
    return html`<p class="num">
      No run of exactly these settings and this seed is recorded. Run shows one training episode, command by command, and
      below it the learning curves, a point per iteration: ${this.config.iterations} of them. ${here || this.timeThere()}
    </p>`;
  }
}
