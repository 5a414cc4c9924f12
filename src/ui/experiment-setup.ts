/** What to run: preset, seed, the main parameters, and all others behind a disclosure. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { live } from 'lit/directives/live.js';
import { parseSeed, type RunConfig } from '../core/config/config';
import { type ConfigName, configTable } from '../core/config/config-table';
import { errorParts } from '../core/errors';
import type { ExperimentCell } from '../notebook/cells';
import { definitionStyles, definitionTip } from './definition';
import { announceValidity, groupTitles, mainParameters, parameterGroups } from './experiment-parameters';
import { LabElement } from './lab-element';
import './parameter-control';
import type { LabServices } from './services';
import { baseStyles } from './styles';

@customElement('lab-setup')
export class LabSetup extends LabElement {
  @property({ attribute: false }) cell!: ExperimentCell;
  @property({ attribute: false }) services!: LabServices;
  @property({ attribute: false }) config!: RunConfig;
  /** The preset's configuration without the cell's changes. */
  @property({ attribute: false }) standard!: RunConfig;
  /** Groups opened so far; only those are rendered. */
  @state() private opened: ReadonlySet<string> = new Set();
  @state() private seedProblem = '';
  /** What is typed and is no seed; null when the field shows the seed. */
  @state() private seedDraft: string | null = null;

  static override styles = [
    baseStyles,
    definitionStyles,
    css`
      :host { display: grid; gap: 1.1rem; container-type: inline-size; }
      .what { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.9rem 1.5rem; }
      @container (min-width: 44rem) { .what { grid-template-columns: 13rem 9rem minmax(0, 1fr); align-items: start; } .shows { padding-top: 1.5rem; } }
      .shows { font-family: var(--font-prose); font-size: 1.02rem; line-height: 1.5; color: var(--ink-2); margin: 0; max-width: 38rem; text-wrap: pretty; }
      /* Rows of two tracks, shared by all controls of a line: the control, and the way back to the preset. */
      .grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(7.6rem, 1fr)); gap: 0 1rem; }
      .seed { font-size: 0.875rem; }
      .seed .row { position: relative; flex-wrap: nowrap; align-items: end; gap: 0.25rem; }
      .seed .def { position: absolute; top: 0; left: 2.6rem; margin: -3px 0 0; }
      wa-number-input::part(input) { text-align: start; padding-inline: 0.1rem; }
      wa-select, wa-number-input { width: 100%; min-width: 0; }
      details { border-top: 1px solid var(--line); }
      details:last-of-type { border-bottom: 1px solid var(--line); }
      summary { cursor: pointer; padding: 0.45rem 0; font-size: 0.875rem; color: var(--ink-2); min-height: 24px; }
      summary b { color: var(--ink); font-weight: 600; }
      .all { border: 0; }
      .all > summary { width: max-content; max-width: 100%; padding: 0.2rem 0; }
      .all > summary:hover { color: var(--ink); }
      .group { padding: 0.4rem 0 1.2rem; }
      .changes { font-size: 0.85rem; color: var(--ink-2); }
      .problem { color: var(--danger); font-size: 0.78rem; margin: 0.2rem 0 0; }
    `,
  ];

  private emit(cell: ExperimentCell): void {
    this.dispatchEvent(new CustomEvent('cell', { detail: cell }));
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get('cell');
    if (this.seedProblem && before && (before.seed !== this.cell.seed || before.preset !== this.cell.preset))
      this.judgeSeed('', null);
  }

  private judgeSeed(problem: string, draft: string | null): void {
    this.seedDraft = draft;
    if (problem === this.seedProblem) return;
    this.seedProblem = problem;
    announceValidity(this, { label: 'Seed', problem });
  }

  private setSeed(raw: string): void {
    try {
      const seed = parseSeed(raw);
      this.judgeSeed('', null);
      if (seed !== this.cell.seed) this.emit({ ...this.cell, seed });
    } catch (thrown) {
      this.judgeSeed(`Expected ${errorParts(thrown).expected}.`, raw);
    }
  }

  private rollDice(): void {
    // A new seed is the visitor's choice, not part of any run: real randomness is right here.
    this.setSeed(String(crypto.getRandomValues(new Uint16Array(1))[0]));
  }

  private open(group: string, event: Event): void {
    if ((event.target as HTMLDetailsElement).open) this.opened = new Set([...this.opened, group]);
  }

  protected override render() {
    const { cell, services } = this;
    const known = Object.hasOwn(services.presets, cell.preset);
    const changed = (Object.keys(cell.config) as ConfigName[]).filter((n) => this.config[n] !== this.standard[n]);
    return html`
      <div class="what">
        <div>
          <wa-select
            size="s"
            label="Preset"
            .value=${cell.preset}
            @change=${(e: Event) => this.emit({ ...cell, preset: (e.target as HTMLInputElement).value, config: {} })}
          >
            ${known ? nothing : html`<wa-option value=${cell.preset}>${cell.preset} (unknown)</wa-option>`}
            ${Object.entries(services.presets).map(([name, p]) => html`<wa-option value=${name}>${p.title}</wa-option>`)}
          </wa-select>
        </div>
        <div class="seed">
          <div class="row">
            <wa-number-input
              size="s"
              label="Seed"
              without-steppers
              min="0"
              max="4294967295"
              .value=${live(this.seedDraft ?? String(cell.seed))}
              @change=${(e: Event) => this.setSeed((e.target as HTMLInputElement).value)}
            ></wa-number-input>
            <wa-button size="s" appearance="plain" aria-label="Another seed" title="Another seed" @click=${this.rollDice}>
              <wa-icon name="dice" label="Another seed"></wa-icon>
            </wa-button>
            ${definitionTip('Seed', 'Decides every random draw: tasks, sampling, order. The same seed on the same device gives the same run, bit for bit.')}
          </div>
          ${this.seedProblem ? html`<p class="problem" role="alert">${this.seedProblem}</p>` : nothing}
        </div>
        <p class="shows">${known ? services.presets[cell.preset]?.shows : nothing}</p>
      </div>
      <div class="grid">
        ${mainParameters.map((name) => this.parameter(name))}
      </div>
      <details class="all" @toggle=${(e: Event) => this.open('all', e)}>
        <summary>
          All parameters
          ${
            changed.length > 0
              ? html`· <b>${changed.length} changed from the preset</b>: ${changed.map((n) => configTable[n].label).join(', ')}`
              : nothing
          }
        </summary>
        ${this.opened.has('all') ? this.groups() : nothing}
      </details>
    `;
  }

  private groups() {
    return parameterGroups.map(([group, names]) => {
      const changed = names.filter((n) => this.config[n] !== this.standard[n]).length;
      return html`<details @toggle=${(e: Event) => {
        e.stopPropagation();
        this.open(group, e);
      }}>
        <summary>${groupTitles[group]} ${changed > 0 ? html`· <b>${changed} changed</b>` : nothing}</summary>
        ${
          this.opened.has(group)
            ? html`<div class="group grid">${names.map((name) => this.parameter(name))}</div>`
            : nothing
        }
      </details>`;
    });
  }

  private parameter(name: ConfigName) {
    return html`<lab-parameter .name=${name} .preset=${this.cell.preset} .value=${this.config[name]} .standard=${this.standard[name]}></lab-parameter>`;
  }
}
