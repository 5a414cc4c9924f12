/** A recorded pair of episodes side by side on one clock: the base policy left, the trained one right. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Recording } from '../../core/recording/recording';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';
import './pane';
import { Playback } from './playback';
import { keyFrames, paneAt, stepMs, steps } from './timeline';

const NAMES = { base: 'Before training', trained: 'After training' } as const;
const reduced = matchMedia('(prefers-reduced-motion: reduce)');

@customElement('lab-episode-pair')
export class LabEpisodePair extends LabElement {
  @property({ attribute: false }) recording!: Recording;
  @state() private still = reduced.matches;
  /** Which of the key frames is shown where motion is not wanted; the last at first: it shows fold and outcome together. */
  @state() private key = Number.POSITIVE_INFINITY;
  private playback = new Playback(0, () => 1);
  private spoken = '';
  /** Plays by itself once, as soon as it can be seen. */
  private begun = false;
  private visible = false;
  private readonly sight = new IntersectionObserver((entries) => {
    this.visible = entries.at(-1)?.isIntersecting ?? false;
    if (this.visible) this.begin();
    else if (this.playback.playing) this.playback.pause();
  });
  private readonly onPlayback = () => this.requestUpdate();
  private readonly onPreference = () => {
    this.playback.pause();
    this.still = reduced.matches;
  };

  static override styles = [
    baseStyles,
    css`
      :host { display: block; }
      .pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.8rem clamp(1rem, 2.5vw, 2rem); }
      .controls { gap: 0.4rem; margin-top: 0.6rem; }
      .where { font-size: 0.8rem; color: var(--ink-2); margin: 0 0.6rem 0 0.4rem; }
      ::slotted(*) { margin-left: auto; }
      @media (max-width: 620px) {
        .pair { grid-template-columns: minmax(0, 1fr); }
        .pair { --terminal-height: 7.5rem; --card-height: 5.6rem; }
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.sight.observe(this);
    reduced.addEventListener('change', this.onPreference);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.sight.disconnect();
    reduced.removeEventListener('change', this.onPreference);
    this.playback.pause();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('recording')) return;
    const { recording } = this;
    this.playback.pause();
    this.playback.removeEventListener('change', this.onPlayback);
    this.playback = new Playback(steps(recording), (at) => stepMs(recording, at));
    this.playback.addEventListener('change', this.onPlayback);
    this.key = Number.POSITIVE_INFINITY;
    this.spoken = '';
    this.begun = false;
    if (this.visible) this.begin();
  }

  private begin(): void {
    if (this.begun || this.still || !this.recording) return;
    this.begun = true;
    this.playback.play();
  }

  private get keys(): number {
    return Math.max(...this.recording.episodes.map((episode) => keyFrames(episode).length));
  }

  private step(): void {
    if (!this.still) this.playback.step();
    else this.key = this.key >= this.keys - 1 ? 0 : this.key + 1;
  }

  private panes() {
    const { recording, playback, still } = this;
    return recording.episodes.map((episode) => {
      if (!still) return paneAt(recording, episode, playback.at, playback.portion);
      const keys = keyFrames(episode);
      return paneAt(recording, episode, keys[Math.min(this.key, keys.length - 1)] ?? episode.frames.length);
    });
  }

  /** What a screen reader hears: what a fold did to the facts, and outcomes. */
  private speech(panes: ReturnType<LabEpisodePair['panes']>): string {
    return panes
      .map(({ fold, end }, i) => {
        const name = NAMES[i === 0 ? 'base' : 'trained'];
        if (end) return `${name}: ${end.success ? 'solved' : 'failed'}.`;
        const lost = fold?.facts.filter(({ fate }) => fate === 'lost').map((fact) => fact.name) ?? [];
        return fold
          ? `${name}: summary ${fold.number}, ${lost.length > 0 ? `lost ${lost.join(', ')}` : 'nothing lost'}.`
          : '';
      })
      .join(' ')
      .trim();
  }

  protected override render() {
    const { recording, playback, still } = this;
    if (!recording) return nothing;
    const panes = this.panes();
    this.spoken = this.speech(panes);
    return html`
      <div class="pair">
        ${recording.episodes.map(
          ({ policy }, i) => html`<lab-episode-pane
            data-policy=${policy}
            name=${NAMES[i === 0 ? 'base' : 'trained']}
            .state=${panes[i]!}
            .window=${recording.window}
          ></lab-episode-pane>`,
        )}
      </div>
      <div class="row controls" role="group" aria-label="Playback">
        ${still ? nothing : this.playButton()}
        <wa-button size="s" appearance="outlined" data-play="step" ?disabled=${!still && playback.ended} @click=${this.step}>
          <wa-icon slot="start" name="step"></wa-icon>Step
        </wa-button>
        ${
          still
            ? nothing
            : html`<wa-button size="s" appearance="outlined" data-play="replay" @click=${() => this.playback.replay()}>
                <wa-icon slot="start" name="undo"></wa-icon>Replay
              </wa-button>`
        }
        <span class="where num">${this.where()}</span>
        <slot></slot>
      </div>
      <p class="visually-hidden" role="status" aria-live="polite">${this.spoken}</p>
    `;
  }

  private playButton() {
    const { playing } = this.playback;
    return html`<wa-button
      size="s"
      appearance="outlined"
      data-play=${playing ? 'pause' : 'play'}
      @click=${() => (playing ? this.playback.pause() : this.playback.play())}
    >
      <wa-icon slot="start" name=${playing ? 'pause' : 'play'}></wa-icon>${playing ? 'Pause' : 'Play'}
    </wa-button>`;
  }

  private where(): string {
    if (!this.still) return `${Math.min(this.playback.at, this.playback.steps)} / ${this.playback.steps}`;
    const key = Math.min(this.key, this.keys - 1);
    const names = this.keys === 3 ? ['before the fold', 'the fold', 'the outcome'] : ['the outcome'];
    return `Key frame ${key + 1} of ${this.keys}: ${names[key]}`;
  }
}
