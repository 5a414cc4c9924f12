/** An episode cell: loads the site's recordings, offers their tasks, plays one, and a button that trains it here. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { errorParts, LabError, type LabErrorParts } from '../../core/errors';
import type { IndexEntry, Recording } from '../../core/recording/recording';
import type { EpisodeCell } from '../../notebook/cells';
import '../episode/episode';
import { loadIndex, loadRecording } from '../episode/load';
import { recordedLine } from '../episode/provenance';
import { lostFacts } from '../episode/timeline';
import '../error-panel';
import { LabElement } from '../lab-element';
import type { LabServices } from '../services';
import { baseStyles } from '../styles';
import type { TrainerSession } from '../trainer-session';
import { sanitise } from '../watch/sanitise';

/** Text whose words in backticks are code. */
const codeSpans = (text: string) =>
  text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${sanitise(part)}</code>` : sanitise(part)));

/** Asks the page to train what is shown: the preset of the recording. */
export type TrainRequest = CustomEvent<{ readonly preset: string }>;

@customElement('lab-episode')
export class LabEpisode extends LabElement {
  @property({ attribute: false }) cell!: EpisodeCell;
  @property({ attribute: false }) services!: LabServices;
  @property({ attribute: false }) session!: TrainerSession;
  @state() private entries: readonly IndexEntry[] = [];
  @state() private chosen: IndexEntry | null = null;
  @state() private recording: Recording | null = null;
  @state() private error: LabErrorParts | null = null;
  private asked = 0;
  private readonly sight = new IntersectionObserver(
    (entries) => {
      if (!entries.at(-1)?.isIntersecting) return;
      this.sight.disconnect();
      void this.load();
    },
    { rootMargin: '600px' },
  );

  static override styles = [
    baseStyles,
    css`
      :host { display: block; min-height: 24rem; }
      .sentence { font: 1.05rem/1.45 var(--font-prose); margin: 0.5rem 0 0.6rem; max-width: 56rem; text-wrap: pretty; }
      .tasks { gap: 0.35rem; font-size: 0.8rem; color: var(--ink-2); }
      .tasks button { all: unset; box-sizing: border-box; cursor: pointer; min-height: 28px; display: inline-flex; align-items: center; padding: 0.1rem 0.7rem; border: 1px solid var(--line-strong); border-radius: 5px; color: var(--ink); }
      .tasks button[aria-pressed='true'] { background: var(--ink); color: var(--paper); border-color: var(--ink); }
      .tasks button:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
      @media (max-width: 620px) { .sentence { font-size: 0.95rem; } }
      .about { margin: 0.6rem 0 0; font-size: 0.85rem; line-height: 1.45; color: var(--ink-2); max-width: 62rem; }
      .train { margin-top: 0.7rem; gap: 0.4rem 1.2rem; align-items: flex-start; }
      .train details { padding-top: 0.35rem; }
      details { font-size: 0.8rem; color: var(--ink-2); flex: 1 1 14rem; min-width: 0; }
      details p { margin: 0.2rem 0 0; overflow-wrap: anywhere; line-height: 1.5; }
      code { font-family: var(--font-mono); font-size: 0.95em; }
      summary { cursor: pointer; width: max-content; max-width: 100%; padding: 0.2rem 0; }
    `,
  ];

  private readonly onSession = () => this.requestUpdate();

  override connectedCallback(): void {
    super.connectedCallback();
    this.session.addEventListener('change', this.onSession);
    if (!this.recording) this.sight.observe(this);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.session.removeEventListener('change', this.onSession);
    this.sight.disconnect();
  }
  protected override willUpdate(changed: PropertyValues<this>): void {
    // A link or an undo may bring another recording into the same cell.
    if (changed.has('cell') && changed.get('cell') && changed.get('cell')?.recording !== this.cell.recording)
      void this.load();
  }

  private async load(): Promise<void> {
    const turn = ++this.asked;
    this.error = null;
    try {
      const entries = await loadIndex(this.services.fetchEpisodes);
      if (turn !== this.asked) return;
      this.entries = entries;
      const wanted = this.cell.recording;
      const entry = wanted === '' ? entries[0] : entries.find(({ name }) => name === wanted);
      if (!entry)
        throw new LabError({
          code: 'episodes.unknown',
          what: 'This site has no recorded episode of this name',
          expected: entries.map(({ name }) => name).join(', ') || 'at least one recording',
          got: wanted || 'none at all',
          fix: 'Choose another task.',
        });
      await this.choose(entry);
    } catch (thrown) {
      if (turn === this.asked) this.error = errorParts(thrown);
    }
  }

  private async choose(entry: IndexEntry): Promise<void> {
    const turn = ++this.asked;
    this.chosen = entry;
    this.error = null;
    try {
      const recording = await loadRecording(entry.file, this.services.fetchEpisodes);
      if (turn === this.asked) this.recording = recording;
    } catch (thrown) {
      if (turn !== this.asked) return;
      this.recording = null;
      this.error = errorParts(thrown);
    }
  }

  /** What one sees, in one sentence that says no more than the recording does. */
  private sentence({ window, episodes: [base, trained] }: Recording): string {
    const differs = lostFacts(base).length > 0 && lostFacts(trained).length === 0;
    return `When its memory of ${window} tokens is full, the agent goes on from a summary that it writes itself${differs ? ': before training that summary loses a fact, after training it loses none' : ''}.`;
  }

  protected override render() {
    const { recording, error } = this;
    if (error) return html`${this.failed(error)}${this.tasks()}`;
    if (!recording) return html`<p role="status" class="quiet">Loading the recorded episodes …</p>`;
    return html`
      <p class="sentence">${this.sentence(recording)}</p>
      <lab-episode-pair .recording=${recording}>${this.tasks()}</lab-episode-pair>
      ${recording.task.about ? html`<p class="about">${codeSpans(recording.task.about)}</p>` : nothing}
      <div class="row train">
        <wa-button variant="brand" data-train @click=${() => this.train(recording)}>
          <wa-icon slot="start" name="play"></wa-icon>${this.session.device?.available === false ? 'Train it here, on the processor' : 'Train it on your own GPU'}
        </wa-button>
        ${recordedLine(recording)}
      </div>
    `;
  }

  private tasks() {
    const { entries, chosen } = this;
    if (entries.length < 2) return nothing;
    return html`<div class="row tasks" role="group" aria-label="Recorded task">
      <span aria-hidden="true">Task</span>
      ${entries.map(
        (entry) => html`<button
          type="button"
          data-task=${entry.name}
          aria-pressed=${entry === chosen ? 'true' : 'false'}
          @click=${() => void this.choose(entry)}
        >${sanitise(entry.title)}</button>`,
      )}
    </div>`;
  }

  private failed(error: LabErrorParts) {
    return html`<lab-error .error=${error}></lab-error>
      <p><wa-button size="s" appearance="outlined" data-retry @click=${() => (this.chosen ? void this.choose(this.chosen) : void this.load())}>Retry</wa-button></p>`;
  }

  private train({ task }: Recording): void {
    const detail = { preset: task.preset };
    this.dispatchEvent(new CustomEvent('train', { detail, bubbles: true, composed: true }) satisfies TrainRequest);
  }
}
