/** Controls and state of one run: buttons, progress with an estimate, alarms, the adapter. */
import { css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Alarm, DeviceReport, Progress, TrainerPhase, TrainerStatus } from '../core/protocol';
import { adapterName, count, duration } from './format';
import { LabElement } from './lab-element';
import { baseStyles } from './styles';

export type BarStatus = TrainerStatus | 'interrupted' | 'none';
export type RunCommand = 'run' | 'resume' | 'pause' | 'step' | 'stop';

const PHASES: Readonly<Record<TrainerPhase, string>> = {
  rollout: 'playing episodes',
  advantages: 'assigning credit',
  update: 'updating the policy',
  evaluate: 'evaluating on held-out tasks',
  save: 'saving',
};

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
  /** Asked for, and waiting for the running phase to end. */
  @property() pending: 'pause' | 'stop' | null = null;
  /** The configuration cannot run. */
  @property({ type: Boolean }) blocked = false;
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
      .note { margin: 0; font-size: 0.875rem; color: var(--ink-2); }
      .adapter { font-size: 0.8rem; color: var(--ink-3); }
    `,
  ];

  private send(command: RunCommand): void {
    this.dispatchEvent(new CustomEvent('command', { detail: command }));
  }

  private button(command: RunCommand, icon: string, label: string, primary = false, disabled = false) {
    return html`<wa-button
      size="m"
      variant=${primary ? 'brand' : 'neutral'}
      appearance=${primary ? 'accent' : 'outlined'}
      data-command=${command}
      ?disabled=${this.busy || disabled}
      @click=${() => this.send(command)}
    >
      <wa-icon slot="start" name=${icon}></wa-icon>${label}
    </wa-button>`;
  }

  private buttons() {
    const unavailable = this.device !== null && !this.device.available;
    const run = (label: string, primary = true) =>
      this.button('run', 'play', label, primary, this.blocked || unavailable);
    switch (this.status) {
      case 'preparing':
      case 'running':
        return [
          this.button('pause', 'pause', 'Pause', true, this.pending !== null),
          this.button('stop', 'stop', 'Stop', false, this.pending === 'stop'),
        ];
      case 'paused':
        return [
          this.button('resume', 'play', 'Resume', true),
          this.button('step', 'step', 'Step'),
          this.button('stop', 'stop', 'Stop'),
        ];
      case 'interrupted':
      case 'stopped':
      case 'failed': {
        const resumable = this.done < this.iterations && !this.changed;
        return resumable
          ? [this.button('resume', 'play', 'Resume', true, unavailable), run('Start over', false)]
          : [run('Run')];
      }
      case 'finished':
        return [run(this.changed ? 'Run' : 'Run again')];
      default:
        return [run('Run')];
    }
  }

  /** What a screen reader hears: changes of state and every tenth of the way, not every iteration. */
  private spoken(): string {
    if (this.status !== 'running') return this.sentence();
    const tenths = Math.floor((10 * this.done) / Math.max(1, this.iterations));
    return tenths === 0 ? 'Running' : `Running, ${tenths * 10} percent done`;
  }

  /** One sentence on the state of the run. */
  private sentence(): string {
    const at = `iteration ${Math.min(this.done + (this.status === 'running' ? 1 : 0), this.iterations)} of ${this.iterations}`;
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
    const waits =
      this.pending === null ? '' : `${this.pending === 'pause' ? 'pausing' : 'stopping'} when this phase is done`;
    const left =
      status === 'running' && progress?.remainingMs != null ? `about ${duration(progress.remainingMs)} left` : '';
    const elapsed = live && progress ? `${duration(progress.elapsedMs)} so far` : '';
    return html`
      <div class="bar">
        <div class="buttons">${this.buttons()}</div>
        <div class="state">
          <div class="line num">
            <b>${this.sentence()}</b>
            <span class="visually-hidden" role="status" aria-live="polite">${this.spoken()}</span>
            ${phase ? html`<span>${phase}</span>` : nothing} ${waits ? html`<span>${waits}</span>` : nothing}
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
      ${this.changed ? html`<p class="note">The parameters were changed since this run. ${live ? 'The run below goes on with its own.' : 'Run starts a new one; the old one stays in My runs.'}</p>` : nothing}
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

  private adapter(): string {
    if (!this.device) return 'Looking for a graphics adapter …';
    return this.device.available ? `Will train on ${adapterName(this.device)}` : 'No WebGPU adapter';
  }
}
