/** The graphics adapter, and which variant of each kernel is used on it: folded away until someone asks. */
import { css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { adapterName } from '../core/adapter-name';
import { errorParts, type LabErrorParts } from '../core/errors';
import type { KernelReport, KernelTrial, TrialSkip } from '../core/kernels';
import './error-panel';
import { count, duration, shortDate } from './format';
import { LabElement } from './lab-element';
import { baseStyles } from './styles';
import type { TrainerSession } from './trainer-session';

const KERNELS: Readonly<Record<string, string>> = {
  matmul: 'Matrix product',
  'matmul-input-gradient': 'Its gradient by the input',
  'matmul-weight-gradient': 'Its gradient by the weights',
  attention: 'Attention, forward and backward',
  decode: 'Decoding',
};

const SKIPPED: Readonly<Record<TrialSkip, string>> = {
  hopeless: 'far slower',
  failed: 'refused by the driver',
  software: 'not tried: slow on software adapters',
  'out-of-time': 'not tried: compiling took too long',
  differs: 'refused: its results differ from the plain variant’s',
};

/** How a variant compares with the chosen one, e.g. "1.8 × as long". */
function comparison(trial: KernelTrial, chosen: KernelTrial): string {
  const ratio = trial.ms === null || !chosen.ms ? null : `${(trial.ms / chosen.ms).toFixed(1)} × as long`;
  return ratio ?? (trial.skipped ? SKIPPED[trial.skipped] : 'not measured');
}

@customElement('lab-device-panel')
export class LabDevicePanel extends LabElement {
  @property({ attribute: false }) session!: TrainerSession;
  /** Null until asked for. */
  @state() private reports: readonly KernelReport[] | null = null;
  @state() private error: LabErrorParts | null = null;
  @state() private busy = false;
  private readonly onSession = () => this.requestUpdate();

  static override styles = [
    baseStyles,
    css`
      summary { cursor: pointer; min-height: 24px; }
      section { margin: 0.6rem 0 1rem; overflow-x: auto; }
      caption { text-align: start; padding-bottom: 0.3rem; font-weight: 600; color: var(--ink-2); }
      table { border-collapse: collapse; width: 100%; }
      th, td { text-align: start; vertical-align: top; font-weight: 400; padding: 0.25rem 0.8rem 0.25rem 0; border-top: 1px solid var(--line); }
      thead th { border: 0; color: var(--ink-3); }
      td b { color: var(--ink); font-weight: 600; }
      p { margin: 0.4rem 0; }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.session.addEventListener('change', this.onSession);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.session.removeEventListener('change', this.onSession);
  }

  private async attempt(work: () => Promise<unknown>): Promise<void> {
    this.error = null;
    this.busy = true;
    try {
      await work();
      this.reports = await this.session.api.kernels();
    } catch (thrown) {
      this.error = errorParts(thrown);
    } finally {
      this.busy = false;
    }
  }

  private measure(shape: KernelReport['shape'] | null): void {
    if (!this.busy) void this.attempt(() => this.session.api.measureKernels(shape));
  }

  protected override render() {
    const { device } = this.session;
    if (!device?.available) return nothing;
    return html`<details @toggle=${(e: Event) => {
      if ((e.target as HTMLDetailsElement).open) void this.attempt(async () => {});
    }}>
      <summary>Graphics adapter: ${adapterName(device)}</summary>
      ${this.error ? html`<lab-error .error=${this.error}></lab-error>` : nothing}
      ${this.reports?.length === 0 ? this.empty() : nothing}
      ${this.reports?.map((report) => this.report(report))}
    </details>`;
  }

  private button(label: string, shape: KernelReport['shape'] | null) {
    const running = this.session.activeRunId !== null;
    return html`<p class="row">
      <wa-button size="s" appearance="outlined" data-measure ?disabled=${running} ?loading=${this.busy} @click=${() => this.measure(shape)}>${label}</wa-button>
      ${running ? html`<span>Not while a run occupies the adapter.</span>` : nothing}
    </p>`;
  }

  private empty() {
    return html`<p>
        Which variants of the kernels are fastest here is measured when a model is first trained on this adapter: a second
        or so, and some seconds of compiling. A run keeps the ones it began with.
      </p>
      ${this.button('Measure now', null)}`;
  }

  private report({ shape, plan, trials, measureMs, measuredAt }: KernelReport) {
    const model = `${count(shape.layers, 'layer')}, width ${shape.dModel}, MLP ${shape.mlp}, ${count(shape.heads, 'head')}, vocabulary ${shape.vocabulary}`;
    return html`<section>
      <table>
        <caption>${model}</caption>
        <thead><tr><th scope="col">Kernel</th><th scope="col">Used</th><th scope="col">Others</th></tr></thead>
        <tbody>${Object.keys(plan.choices).map((kernel) => this.row(kernel, plan.choices[kernel] ?? '', trials))}</tbody>
      </table>
      <p class="num">
        At most ${plan.microBatchTokens.toLocaleString('en')} tokens at once in an update, so that a piece of work takes about
        100 ms. Measured ${shortDate(measuredAt)} in ${measureMs < 1000 ? `${Math.round(measureMs)} ms` : duration(measureMs)}, compiling not counted.
      </p>
      ${this.button('Measure again', shape)}
    </section>`;
  }

  private row(kernel: string, variant: string, all: readonly KernelTrial[]) {
    const trials = all.filter((trial) => trial.kernel === kernel);
    const chosen = trials.find((trial) => trial.variant === variant);
    const others = trials.filter((trial) => trial !== chosen);
    return html`<tr>
      <th scope="row">${KERNELS[kernel] ?? kernel}</th>
      <td><b>${variant}</b></td>
      <td class="num">${chosen ? others.map((trial) => html`<div>${trial.variant}: ${comparison(trial, chosen)}</div>`) : nothing}</td>
    </tr>`;
  }
}
