/** One configuration key as a control, generated from the config table. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { live } from 'lit/directives/live.js';
import { parsePartialConfig, type RunConfig } from '../core/config/config';
import { type ConfigKey, type ConfigName, configTable } from '../core/config/config-table';
import { definitionStyles, definitionTip } from './definition';
import { announceValidity, optionText, valueText } from './experiment-parameters';
import { LabElement } from './lab-element';
import { baseStyles } from './styles';

@customElement('lab-parameter')
export class LabParameter extends LabElement {
  @property() name!: ConfigName;
  @property({ attribute: false }) value!: RunConfig[ConfigName];
  /** The preset's value. */
  @property({ attribute: false }) standard!: RunConfig[ConfigName];
  @property({ type: Boolean }) disabled = false;
  /** The preset the cell is made from; choosing another one puts away what was typed. */
  @property() preset = '';
  @state() private problem = '';
  /** What is typed and cannot be used; null when the field shows the value. */
  @state() private draft: string | null = null;

  static override styles = [
    baseStyles,
    definitionStyles,
    css`
      :host { display: grid; grid-row: span 2; grid-template-rows: subgrid; min-width: 0; font-size: 0.875rem; padding-bottom: 0.5rem; }
      /* Labels may take two lines; the fields of a row stay level. */
      .control { position: relative; align-self: end; min-width: 0; }
      .control > .def { position: absolute; top: 0; right: 0; margin: -3px -2px 0 0; }
      .text { display: block; padding-right: 1.3rem; line-height: 1.25; }
      .text.changed { text-decoration: underline; text-decoration-thickness: 2px; text-underline-offset: 3px; }
      .unit { color: var(--ink-3); font-size: 0.75rem; font-weight: 400; }
      wa-select, wa-number-input { width: 100%; min-width: 0; }
      wa-switch { display: block; padding: 0.45rem 1.3rem 0.45rem 0; }
      wa-number-input::part(input) { text-align: start; padding-inline: 0.1rem; }
      .reset { all: unset; display: inline-flex; align-items: center; gap: 0.3rem; margin-top: 0.15rem; min-height: 24px; font-size: 0.75rem; color: var(--ink-2); cursor: pointer; border-radius: 3px; }
      .reset:hover { color: var(--ink); text-decoration: underline; }
      .problem { color: var(--danger); font-size: 0.78rem; margin: 0.2rem 0 0; }
    `,
  ];

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (this.problem && (changed.has('value') || changed.has('preset'))) this.judge('', null);
  }

  private judge(problem: string, draft: string | null): void {
    this.draft = draft;
    if (problem === this.problem) return;
    this.problem = problem;
    announceValidity(this, { label: configTable[this.name].label, problem });
  }

  private commit(raw: unknown): void {
    const { values, issues } = parsePartialConfig({ [this.name]: raw });
    const [issue] = issues;
    if (issue) this.judge(`Expected ${issue.expected}, got ${raw === '' ? 'nothing' : issue.got}.`, String(raw));
    else this.judge('', null);
    const value = values[this.name];
    if (issue || value === undefined || value === this.value) return;
    this.dispatchEvent(
      new CustomEvent('parameter', { detail: { name: this.name, value }, bubbles: true, composed: true }),
    );
  }

  protected override render() {
    const key: ConfigKey = configTable[this.name];
    const changed = this.value !== this.standard;
    const range = key.type === 'integer' || key.type === 'number' ? ` From ${key.min} to ${key.max}.` : '';
    return html`
      <div class="control">
        ${this.control(key, changed)} ${definitionTip(key.label, `${key.help}${range} Key: ${this.name}.`)}
      </div>
      <div>
        ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
        ${
          changed || this.problem
            ? html`<button class="reset" type="button" ?disabled=${this.disabled} @click=${() => this.commit(this.standard)}>
                <wa-icon name="undo"></wa-icon>preset: ${valueText(this.name, this.standard)}
              </button>`
            : nothing
        }
      </div>
    `;
  }

  private control(key: ConfigKey, changed: boolean) {
    const text = html`<span slot="label" class="text ${changed ? 'changed' : ''}"
      >${key.label}
      ${'unit' in key && key.unit ? html`<span class="unit">${key.unit}</span>` : nothing}</span
    >`;
    if (key.type === 'choice')
      return html`<wa-select
        size="s"
        with-label
        .value=${String(this.value)}
        ?disabled=${this.disabled}
        @change=${(e: Event) => this.commit((e.target as HTMLInputElement).value)}
      >
        ${text} ${key.options.map((option) => html`<wa-option value=${option}>${optionText(key, option)}</wa-option>`)}
      </wa-select>`;
    if (key.type === 'boolean')
      return html`<wa-switch
        size="s"
        .checked=${Boolean(this.value)}
        ?disabled=${this.disabled}
        @change=${(e: Event) => this.commit((e.target as HTMLInputElement).checked)}
        ><span class=${changed ? 'text changed' : ''}>${key.label}</span></wa-switch
      >`;
    return html`<wa-number-input
      size="s"
      with-label
      without-steppers
      .value=${live(this.draft ?? String(this.value))}
      min=${key.min}
      max=${key.max}
      step=${key.type === 'integer' ? 1 : 'any'}
      inputmode=${key.type === 'integer' ? 'numeric' : 'decimal'}
      ?disabled=${this.disabled}
      @change=${(e: Event) => this.commit((e.target as HTMLInputElement).value)}
      >${text}</wa-number-input
    >`;
  }
}
