/** Live view of one training episode: context-budget bar, terminal, transcript, playback speed. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import type { WatchEvent } from '../../core/protocol/protocol';
import { count } from '../format';
import { LabElement } from '../lab-element';
import { emptyWatch, readable, type TranscriptEntry, type WatchState } from './watch-model';
import { type PlayerOutput, type Speed, WatchPlayer } from './watch-player';
import './lab-context-bar';
import './lab-terminal';
import type { LabTerminal } from './lab-terminal';

/** Longest step of the playback clock, ms: after a pause in a hidden tab the episode goes on, it does not jump. */
const MAX_STEP_MS = 120;
const reduced = matchMedia('(prefers-reduced-motion: reduce)');

@customElement('lab-watch')
export class LabWatch extends LabElement {
  /** Window and reserve of the configuration shown before the first episode. */
  @property({ type: Number }) window = 64;
  @property({ type: Number }) reserve = 37;
  /** A field of the cell cannot be used, so there is no window to show before the first episode. */
  @property({ type: Boolean }) invalid = false;
  /** Subscribes to a run's events; a new function means another run. */
  @property({ attribute: false }) source: ((listener: (events: readonly WatchEvent[]) => void) => () => void) | null =
    null;

  @state() private watch: WatchState = emptyWatch(64, 37);
  @state() private speed: Speed = 'normal';
  @query('lab-terminal') private terminal!: LabTerminal;
  private player = new WatchPlayer(this.watch);
  private unsubscribe: (() => void) | null = null;
  private frame = 0;
  private lastFrame = 0;

  static override styles = css`
    :host { display: block; }
    .head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.2rem 1rem; margin-bottom: 0.1rem; }
    .count { font-variant-numeric: tabular-nums; font-size: 0.95rem; }
    .count b { font-size: 1.35rem; font-weight: 600; letter-spacing: -0.01em; }
    .quiet { color: var(--ink-3); font-size: 0.85rem; }
    .grow { flex: 1; }
    label { font-size: 0.8rem; color: var(--ink-2); display: inline-flex; gap: 0.4rem; align-items: center; }
    select { font: inherit; color: var(--ink); background: var(--raised); border: 1px solid var(--line-strong); border-radius: 5px; padding: 0.15rem 0.3rem; min-height: 28px; }
    select:focus-visible, summary:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
    lab-context-bar.unknown { visibility: hidden; }
    .screen { position: relative; margin-top: 0.9rem; }
    [hidden] { display: none !important; }
    .hint { position: absolute; inset: 0; display: grid; place-items: center; margin: 0; padding: 1rem; color: var(--ink-3); font-size: 0.9rem; text-align: center; }
    details { margin-top: 0.5rem; font-size: 0.85rem; }
    summary { cursor: pointer; color: var(--ink-2); width: max-content; padding: 0.2rem 0; border-radius: 3px; }
    ol { margin: 0.4rem 0 0; padding: 0.6rem 0.8rem 0.6rem 2.2rem; background: var(--sunken); border-radius: 6px; font-family: var(--font-mono); font-size: 0.8rem; max-height: 18rem; overflow: auto; }
    li { margin: 0.15rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
    li .who { font-family: var(--font-ui); color: var(--ink-3); margin-right: 0.5em; }
    li.action { color: var(--action); }
    li.summary, li.carried { color: var(--summary); text-decoration: underline; text-underline-offset: 3px; }
    li.observation { color: var(--ink-2); }
  `;

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('source')) {
      this.unsubscribe?.();
      this.unsubscribe = this.source?.((events) => this.receive(events)) ?? null;
      if (changed.get('source') !== undefined) this.show(this.player.clear(emptyWatch(this.window, this.reserve)));
    }
    if ((changed.has('window') || changed.has('reserve')) && this.watch.rollout === null)
      this.show(this.player.clear(emptyWatch(this.window, this.reserve)));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.unsubscribe?.();
    this.unsubscribe = null;
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated && this.source) this.unsubscribe = this.source((events) => this.receive(events));
  }

  private receive(events: readonly WatchEvent[]): void {
    this.player.push(events);
    if (this.frame === 0) {
      this.lastFrame = performance.now();
      this.frame = requestAnimationFrame(this.tick);
    }
  }

  private readonly tick = (now: number): void => {
    const elapsed = Math.min(MAX_STEP_MS, Math.max(0, now - this.lastFrame));
    // About 15 redraws a second are enough for the eye and leave the main thread alone.
    if (elapsed < 60) {
      this.frame = requestAnimationFrame(this.tick);
      return;
    }
    this.lastFrame = now;
    this.player.speed = this.speed;
    this.show(this.player.advance(elapsed, reduced.matches));
    this.frame = this.player.busy ? requestAnimationFrame(this.tick) : 0;
  };

  private show({ state: next, writes, reset }: PlayerOutput): void {
    if (next !== this.watch) this.watch = next;
    if (reset) this.terminal?.clear();
    for (const { kind, text } of writes) this.terminal?.write(kind, text);
  }

  protected override render() {
    const w = this.watch;
    const used = w.folding ? w.folding.reduce((n, r) => n + r.tokens, 0) : w.used;
    // Before a run there is a window to show, and nothing in it: no empty screen.
    const before = this.source === null;
    const unknown = this.invalid && w.rollout === null;
    return html`
      <div class="head">
        ${unknown ? nothing : html`<span class="count"><b>${used}</b> / ${w.window} tokens</span>`}
        <span class="quiet">
          ${
            unknown
              ? 'no window: correct the parameters above'
              : w.rollout === null
                ? 'no episode yet'
                : html`${count(w.compactions, 'compaction')} · turn ${w.turns} of ${w.turnLimit}`
          }
        </span>
        <span class="grow"></span>
        <label ?hidden=${before}>
          Speed
          <select .value=${this.speed} @change=${(e: Event) => {
            this.speed = (e.target as HTMLSelectElement).value as Speed;
          }}>
            <option value="slow">slow</option>
            <option value="normal" selected>reading</option>
            <option value="fast">fast</option>
            <option value="live">as it happens</option>
          </select>
        </label>
      </div>
      <lab-context-bar class=${unknown ? 'unknown' : ''} .watch=${w}></lab-context-bar>
      <div class="screen" ?hidden=${before}>
        <lab-terminal></lab-terminal>
        ${w.rollout === null ? html`<p class="hint">The next training episode is shown here, command by command.</p>` : nothing}
      </div>
      <details ?hidden=${before}>
        <summary>Transcript as text</summary>
        ${w.transcript.length === 0 ? html`<p class="quiet">Nothing has happened yet.</p>` : this.transcript(w.transcript)}
      </details>
    `;
  }

  private transcript(entries: readonly TranscriptEntry[]) {
    return html`<ol tabindex="0" aria-label="Transcript of the episode">
      ${entries
        .filter((e) => e.kind !== 'context')
        .map(
          (e) => html`<li class=${e.kind}><span class="who">${WHO[e.kind] ?? nothing}</span>${readable(e.text)}</li>`,
        )}
    </ol>`;
  }
}

const WHO: Readonly<Record<string, string>> = {
  start: 'task',
  action: 'action',
  observation: 'output',
  summary: 'summary',
  carried: 'carried over',
  compact: 'compaction',
  end: 'end',
};
