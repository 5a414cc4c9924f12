/** Controls and state of one run: buttons, progress with an estimate, alarms, the adapter. */
import { css, html, type LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';
import { adapterName } from '../core/adapter-name';
import type { Alarm } from '../core/metrics/records';
import type { DeviceReport, Progress, TrainerPhase, TrainerStatus } from '../core/protocol/protocol';
import { count, duration } from './format';
import { LabElement } from './lab-element';
import { baseStyles } from './styles';

/** `elsewhere`: another tab trains the run. */
export type BarStatus = TrainerStatus | 'interrupted' | 'elsewhere' | 'none';
export type RunCommand = 'run' | 'resume' | 'pause' | 'step' | 'stop';

const PHASES: Readonly<Record<TrainerPhase, string>> = {
  rollout: 'playing episodes',
  advantages: 'assigning credit',
  update: 'updating the policy',
  evaluate: 'evaluating on held-out tasks',
  save: 'saving',
};

/** What the bar says from the moment a button is pressed until the trainer has done it. */
const WAITING: Readonly<Record<RunCommand, string>> = {
  run: 'Starting…',
  resume: 'Resuming…',
  pause: 'Pausing…',
  step: 'Stepping…',
  stop: 'Stopping…',
};

/** Buttons change under the pointer when a run begins or ends: the second click of a double click is not meant for them. */
const SWAP_MS = 400;

interface RunButton {
  readonly command: RunCommand;
  readonly icon: string;
  readonly label: string;
  readonly primary: boolean;
  readonly disabled: boolean;
}

@customElement('lab-run-bar')
export class LabRunBar extends LabElement {
  @property() status: BarStatus = 'none';
  @property({ attribute: false }) progress: Progress | null = null;
  /** Iterations completed and wanted. */
  @property({ type: Number }) done = 0;
  @property({ type: Number }) iterations = 1;
  @property({ attribute: false }) device: DeviceReport | null = null;
  @property({ attribute: false }) alarms: readonly { alarm: Alarm; times: number; iteration: number }[] = [];
  @property({ type: Boolean }) busy = false;
  /** Asked for, and not done yet. */
  @property() pending: RunCommand | null = null;
  /** Why the configuration cannot run; empty when it can. */
  @property() obstacle = '';
  /** The parameters above no longer describe the run shown. */
  @property({ type: Boolean }) changed = false;

  static override styles = [
    baseStyles,
    css`
      :host { display: grid; gap: 0.7rem; }
      .bar { display: flex; flex-wrap: wrap; align-items: center; gap: 0.6rem 1.2rem; }
      .buttons { display: flex; flex-wrap: wrap; gap: 0.5rem; }
      .state { flex: 1 1 16rem; min-width: 0; font-size: 0.875rem; color: var(--ink-2); }
      .line { display: flex; flex-wrap: wrap; gap: 0 0.9rem; align-items: baseline; margin-bottom: 0.3rem; }
      .line b { color: var(--ink); font-weight: 600; }
      wa-progress-bar { --track-height: 5px; --track-color: var(--line); --indicator-color: var(--ink); }
      .alarms { list-style: none; margin: 0; padding: 0; display: grid; gap: 0.3rem; font-size: 0.875rem; }
      .alarms li { display: flex; gap: 0.5rem; align-items: baseline; color: var(--danger); }
      .alarms wa-icon { align-self: center; flex: none; }
      .alarms span { color: var(--ink-2); }
      wa-button[data-waiting] { opacity: 0.55; }
      .reason b { color: var(--ink); font-weight: 600; }
      .note { margin: 0; font-size: 0.875rem; color: var(--ink-2); }
      .adapter { font-size: 0.8rem; color: var(--ink-3); }
    `,
  ];

  /** The commands shown, and since when. */
  private shown = '';
  private swappedAt = Number.NEGATIVE_INFINITY;
  /** A command was sent since the buttons last changed: the change is its doing. */
  private sent = false;
  /** The button that had the focus before an update. */
  private focused: Element | null = null;

  private send(command: RunCommand, event: Event): void {
    // Not disabled while it waits: a disabled button would lose the keyboard's place.
    if (this.waits(command)) return;
    if (event.isTrusted && performance.now() - this.swappedAt < SWAP_MS) return;
    this.sent = true;
    this.dispatchEvent(new CustomEvent('command', { detail: command }));
  }

  private waits(command: RunCommand): boolean {
    if (this.busy) return true;
    return this.pending !== null && !(command === 'stop' && this.pending !== 'stop');
  }

  private buttons(): readonly RunButton[] {
    const button = (command: RunCommand, icon: string, label: string, primary = false, disabled = false) => ({
      command,
      icon,
      label,
      primary,
      disabled,
    });
    const run = (label: string, primary = true) => button('run', 'play', label, primary, this.obstacle !== '');
    const stop = button('stop', 'stop', 'Stop');
    const paused = [button('resume', 'play', 'Resume', true), button('step', 'step', 'Step'), stop];
    switch (this.status) {
      case 'preparing':
      case 'running':
        // A step runs for a moment: buttons that came and went would be pressed by mistake.
        return this.pending === 'step' ? paused : [button('pause', 'pause', 'Pause', true), stop];
      case 'paused':
        return paused;
      case 'interrupted':
      case 'stopped':
      case 'failed': {
        const resumable = this.done < this.iterations && !this.changed;
        return resumable ? [button('resume', 'play', 'Resume', true), run('Start over', false)] : [run('Run')];
      }
      case 'elsewhere':
        return [run(this.changed ? 'Run' : 'Start another', this.changed)];
      case 'finished':
        return [run(this.changed ? 'Run' : 'Run again')];
      default:
        return [run('Run')];
    }
  }

  private drawButton({ command, icon, label, primary, disabled }: RunButton): TemplateResult {
    return html`<wa-button
      size="m"
      variant=${primary ? 'brand' : 'neutral'}
      appearance=${primary ? 'accent' : 'outlined'}
      data-command=${command}
      ?data-waiting=${this.waits(command)}
      ?disabled=${disabled}
      @click=${(event: Event) => this.send(command, event)}
    >
      <wa-icon slot="start" name=${icon}></wa-icon>${label}
    </wa-button>`;
  }

  protected override willUpdate(): void {
    this.focused = this.shadowRoot?.activeElement ?? null;
    const commands = this.buttons()
      .map((b) => b.command)
      .join();
    if (commands === this.shown) return;
    if (this.sent) this.swappedAt = performance.now();
    this.sent = false;
    this.shown = commands;
  }

  protected override updated(): void {
    if (!this.focused || this.focused.isConnected) return;
    // The button that was pressed is gone: the one that took its place gets the keyboard.
    const first = this.renderRoot.querySelector<LitElement>('wa-button:not([disabled])');
    void first?.updateComplete.then(() => first.focus());
  }

  /** What a screen reader hears: changes of state and every tenth of the way, not every iteration. */
  private spoken(): string {
    if (this.status !== 'running' || this.pending !== null) return this.sentence();
    const tenths = Math.floor((10 * this.done) / Math.max(1, this.iterations));
    return tenths === 0 ? 'Running' : `Running, ${tenths * 10} percent done`;
  }

  /** One sentence on the state of the run. */
  private sentence(): string {
    if (this.pending !== null) return WAITING[this.pending];
    // The iteration in work, also while it rests.
    const at = `iteration ${Math.min(this.done + 1, this.iterations)} of ${this.iterations}`;
    switch (this.status) {
      case 'none':
        return 'Not run yet';
      case 'idle':
      case 'preparing':
        return this.progress?.note || 'Preparing';
      case 'running':
        return `Running, ${at}`;
      case 'paused':
        return `Paused, ${at}`;
      case 'finished':
        return `Finished after ${count(this.done, 'iteration')}`;
      case 'interrupted':
        return `Interrupted after iteration ${this.done} of ${this.iterations}`;
      case 'elsewhere':
        return 'Running in another tab';
      case 'stopped':
        return `Stopped after iteration ${this.done} of ${this.iterations}`;
      case 'failed':
        return `Failed after iteration ${this.done} of ${this.iterations}`;
    }
  }

  protected override render() {
    const { progress, status } = this;
    const live = status === 'running' || status === 'preparing' || status === 'paused';
    const phase = live && progress?.phase ? PHASES[progress.phase] : '';
    const left =
      status === 'running' && progress?.remainingMs != null ? `about ${duration(progress.remainingMs)} left` : '';
    const elapsed = live && progress ? `${duration(progress.elapsedMs)} so far` : '';
    return html`
      <div class="bar">
        <div class="buttons">
          ${repeat(
            this.buttons(),
            (button) => button.command,
            (button) => this.drawButton(button),
          )}
        </div>
        <div class="state">
          <div class="line num">
            <b>${this.sentence()}</b>
            <span class="visually-hidden" role="status" aria-live="polite">${this.spoken()}</span>
            ${phase ? html`<span>${phase}</span>` : nothing}
            ${left ? html`<span>${left}</span>` : elapsed ? html`<span>${elapsed}</span>` : nothing}
          </div>
          ${
            status === 'none'
              ? nothing
              : html`<wa-progress-bar
                  label="Iterations completed"
                  value=${(100 * this.done) / Math.max(1, this.iterations)}
                  ?indeterminate=${status === 'preparing'}
                ></wa-progress-bar>`
          }
          ${status === 'none' ? html`<span class="adapter">${this.adapter()}</span>` : nothing}
        </div>
      </div>
      ${this.reasons()}
      ${this.changed && !this.obstacle ? html`<p class="note">The parameters were changed since this run. ${live ? 'The run below goes on with its own.' : 'Run starts a new one; the old one stays in My runs.'}</p>` : nothing}
      ${
        this.alarms.length > 0
          ? html`<ul class="alarms" aria-label="Alarms">
              ${this.alarms.map(
                ({ alarm, times, iteration }) => html`<li>
                  <wa-icon name="alert"></wa-icon><b>${alarm.message}</b>
                  <span>${times > 1 ? `${times} times, last in` : 'in'} iteration ${iteration}</span>
                </li>`,
              )}
            </ul>`
          : nothing
      }
    `;
  }

  /** Why there is nothing to press, beside what cannot be pressed. */
  private reasons() {
    if (!this.buttons().some((b) => b.command === 'run')) return nothing;
    return this.obstacle ? html`<p class="note reason" role="status"><b>Run is off.</b> ${this.obstacle}</p>` : nothing;
  }

  private adapter(): string {
    if (!this.device) return 'Looking for a graphics adapter …';
    if (!this.device.available) return 'No WebGPU: will train with jax-js on WebAssembly';
    return `Will train on: ${adapterName(this.device)}`;
  }
}
