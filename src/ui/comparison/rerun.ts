/** Runs arms of the experiment in this browser, one or all, and compares each with the recorded seeds. */
import { css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { type CellResult, evalModes } from '../../core/experiment/experiment';
import { count, duration } from '../format';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';
import type { TrainerSession } from '../trainer-session';
import { type CellQueue, placesOf } from './cell-queue';
import type { Comparison } from './comparison';

const points = (share: number): string => (100 * share).toFixed(1);
/** Seeds that a cell can have, as the files of results allow them. */
const MOST_SEEDS = 1000;

@customElement('lab-rerun')
export class LabRerun extends LabElement {
  @property({ attribute: false }) comparison!: Comparison;
  @property({ attribute: false }) queue!: CellQueue;
  @property({ attribute: false }) session!: TrainerSession;
  /** Changes with the queue. */
  @property({ type: Number }) version = 0;
  @state() private setup = '';
  @state() private arm = '';
  @state() private seed = '';
  private readonly refresh = () => this.requestUpdate();

  static override styles = [
    baseStyles,
    css`
      :host { display: block; font-size: 0.875rem; }
      h3 { font: 600 1rem/1.3 var(--font-ui); margin: 0 0 0.3rem; }
      p { margin: 0.4rem 0; color: var(--ink-2); max-width: var(--column); }
      .pick { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 11rem), 16rem)); gap: 0.7rem 1.2rem; align-items: end; margin: 0.7rem 0; }
      .scroll { overflow-x: auto; }
      table { border-collapse: collapse; font-size: 0.82rem; font-variant-numeric: tabular-nums; margin-top: 0.6rem; }
      th, td { padding: 0.3rem 0.9rem 0.3rem 0; text-align: start; font-weight: 400; vertical-align: top; border-top: 1px solid var(--line); }
      thead th { border: 0; color: var(--ink-3); }
      td b { font-weight: 600; }
      td small { display: block; color: var(--ink-3); }
      .outside { text-decoration: underline; text-underline-offset: 3px; }
      wa-progress-bar { --track-height: 5px; --track-color: var(--line); --indicator-color: var(--ink); }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.session.addEventListener('change', this.refresh);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.session.removeEventListener('change', this.refresh);
  }

  private get chosenSetup() {
    const { setups } = this.comparison;
    return setups.find(({ id }) => id === this.setup) ?? setups[0]!;
  }
  private get setupId(): string {
    return this.chosenSetup.id;
  }
  private get armId(): string {
    const arms = this.comparison.armsOf(this.setupId);
    return (arms.find(({ id }) => id === (this.arm || this.comparison.reference)) ?? arms[0]!).id;
  }
  /** What is typed, or a seed that nobody has recorded; null when it is none. */
  private get seedNumber(): number | null {
    const { comparison, chosenSetup } = this;
    const seed = this.seed === '' ? comparison.newSeed(chosenSetup) : Number(this.seed);
    const possible = Number.isInteger(seed) && seed >= 1 && seed <= MOST_SEEDS;
    return possible && comparison.hasBase(chosenSetup, seed) ? seed : null;
  }

  private expectedSeed(): string {
    const { comparison, chosenSetup } = this;
    const [has, of] = [comparison.warmStartsOf(chosenSetup), comparison.experiment.warmStarts];
    const some =
      has < of ? ` that begins from warm start 1 to ${has} of ${of}, e.g. ${comparison.newSeed(chosenSetup)}` : '';
    return `Expected a seed from 1 to ${MOST_SEEDS}${some}.`;
  }

  /** Why nothing can be run now; empty when it can. */
  private obstacle(): string {
    const { session } = this;
    if (session.activeRunId !== null) return 'Not while a run occupies the adapter: stop it first.';
    if (session.bench.active) return 'Not while the bench cell measures.';
    return '';
  }

  protected override render() {
    const { comparison, queue, setupId, armId, seedNumber } = this;
    const obstacle = queue.active ? '' : this.obstacle();
    const all = placesOf(comparison.experiment);
    const done = all.filter((place) => queue.result(place)).length;
    const select = (
      label: string,
      value: string,
      options: readonly { id: string; title: string }[],
      set: (id: string) => void,
    ) =>
      html`<wa-select size="s" label=${label} .value=${value} @change=${(e: Event) => set((e.target as HTMLInputElement).value)}>
        ${options.map(({ id, title }) => html`<wa-option value=${id}>${title}</wa-option>`)}
      </wa-select>`;
    return html`
      <h3>Run it here</h3>
      <p>
        Any arm with any seed, on this machine. A seed that was not recorded should fall into the 95 % prediction interval of the
        recorded ones, 19 times in 20. What is finished stays in this browser.
      </p>
      <div class="pick">
        ${select('Setup', setupId, comparison.setups, (id) => {
          this.setup = id;
        })}
        ${select('Arm', armId, comparison.armsOf(setupId), (id) => {
          this.arm = id;
        })}
        <wa-number-input size="s" label="Seed" without-steppers min="1" max=${MOST_SEEDS}
          .value=${this.seed === '' ? String(comparison.newSeed(this.chosenSetup)) : this.seed}
          @change=${(e: Event) => {
            this.seed = (e.target as HTMLInputElement).value;
          }}></wa-number-input>
      </div>
      ${seedNumber === null ? html`<p role="alert">${this.expectedSeed()}</p>` : nothing}
      <div class="row">
        <wa-button size="s" variant="brand" data-cells="one" ?disabled=${obstacle !== '' || seedNumber === null} @click=${() =>
          seedNumber === null ? undefined : queue.add([{ setup: setupId, arm: armId, seed: seedNumber }])}>
          <wa-icon slot="start" name="play"></wa-icon>Run this arm here</wa-button>
        <wa-button size="s" appearance="outlined" data-cells="all" ?disabled=${obstacle !== '' || done === all.length} @click=${() => queue.add(all)}>
          Run the whole experiment here (${count(all.length - done, 'cell')})</wa-button>
      </div>
      ${obstacle ? html`<p role="status">${obstacle}</p>` : nothing}
      ${queue.active ? this.progress(done, all.length) : nothing}
      ${queue.error ? html`<lab-error .error=${queue.error}></lab-error>` : nothing}
      ${queue.results.length > 0 ? this.results() : nothing}
    `;
  }

  private progress(done: number, total: number) {
    const { queue } = this;
    const { current, waiting, remainingMs } = queue;
    const title = current
      ? `${this.titleOf(current.setup, current.arm)}, seed ${current.seed}: ${queue.stopping ? 'stopping' : queue.note}`
      : queue.error
        ? 'Stopped by an error'
        : 'Paused';
    const left = remainingMs === null || !current ? '' : `, about ${duration(remainingMs)} left`;
    const held = queue.pausing || !current;
    return html`<div>
      <p class="num"><span>${title}</span>${waiting > 0 ? `; ${count(waiting, 'cell')} more${left}` : left}</p>
      <p class="visually-hidden" role="status">${current ? `Running ${this.titleOf(current.setup, current.arm)}, seed ${current.seed}` : title}</p>
      ${waiting > 0 ? html`<wa-progress-bar label="Cells of the experiment that are done" value=${(100 * done) / total}></wa-progress-bar>` : nothing}
      <div class="row">
        ${
          waiting > 0
            ? html`<wa-button size="s" appearance="outlined" data-cells=${held ? 'resume' : 'pause'} @click=${() => (held ? queue.resume() : queue.pause())}>
                <wa-icon slot="start" name=${held ? 'play' : 'pause'}></wa-icon>${held ? 'Resume' : 'Pause after this cell'}</wa-button>`
            : nothing
        }
        <wa-button size="s" appearance="plain" data-cells="stop" @click=${() => void queue.cancel()}>
          <wa-icon slot="start" name="stop"></wa-icon>Stop, lose the cell in hand</wa-button>
      </div>
    </div>`;
  }

  private titleOf(setup: string, arm: string): string {
    const { comparison } = this;
    return `${comparison.arm(arm)?.title ?? arm} in ${comparison.setups.find(({ id }) => id === setup)?.title ?? setup}`;
  }

  private results() {
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Results of this browser">
      <table>
        <thead><tr><th scope="col">Run here</th>${evalModes.map((mode) => html`<th scope="col">${mode}, %</th>`)}</tr></thead>
        <tbody>
          ${this.queue.results.map(
            (cell) => html`<tr>
              <th scope="row">${this.titleOf(cell.setup, cell.arm)}, seed ${cell.seed}</th>
              ${evalModes.map((mode) => html`<td>${this.against(cell, mode)}</td>`)}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }

  /** A number beside the interval in which the recorded seeds let it be expected. */
  private against({ setup, arm, evaluation }: CellResult, mode: (typeof evalModes)[number]) {
    const value = evaluation[mode].success;
    const expected = this.comparison.prediction(setup, arm, mode);
    if (!expected) return html`<b>${points(value)}</b><small>nothing to compare with</small>`;
    const inside = value >= expected.low && value <= expected.high;
    const range = `${points(expected.low)} to ${points(expected.high)}`;
    return html`<b>${points(value)}</b><small class=${inside ? '' : 'outside'}>${inside ? 'inside' : 'outside'} ${range}</small>`;
  }
}
