/** A bench cell: measures this machine's adapter, engine against engine, and offers the numbers as files. */
import { css, html, nothing } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import {
  type BenchModel,
  type BenchReport,
  type BenchRow,
  type PeerName,
  peerNames,
  type Spread,
} from '../../core/protocol/bench';
import type { BenchCell } from '../../notebook/cells';
import { benchCsv, benchJson } from '../bench-export';
import { cancelDraw, draw } from '../charts/frame-queue';
import { copyText, download } from '../download';
import '../error-panel';
import { compact, duration, shortDate } from '../format';
import { LabElement } from '../lab-element';
import { LazyPart } from '../lazy-part';
import '../part-fault';
import { baseStyles } from '../styles';
import type { TrainerSession } from '../trainer-session';

const ENGINES: Readonly<Record<PeerName, string>> = { ours: 'this page', tfjs: 'tfjs', jax: 'jax-js' };
const TASKS: Readonly<Record<string, string>> = {
  update: 'PPO update',
  decode64: 'Decode, 64 environments',
  decode256: 'Decode, 256 environments',
};
/** Beside the bars there is little room. */
const SHORT_TASKS: Readonly<Record<string, string>> = {
  update: 'update',
  decode64: 'decode 64',
  decode256: 'decode 256',
};
const MODELS: Readonly<Record<BenchModel, string>> = {
  quick: 'Model of the quick preset: width 32, 1 layer',
  d128: 'Larger model: width 128, 4 layers',
};

export const benchBarsPart = new LazyPart('The bars', () => import('../charts/bench-bars'));

const digits = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 3 });
const range = ({ min, max }: Spread) => `${compact(min)}–${compact(max)}`;

@customElement('lab-bench')
export class LabBench extends LabElement {
  @property({ attribute: false }) cell!: BenchCell;
  @property({ attribute: false }) session!: TrainerSession;
  @state() private copied: 'no' | 'yes' | 'refused' = 'no';
  @query('.bars') private bars!: HTMLElement | null;
  private drawn: { readonly report: BenchReport; readonly width: number } | null = null;
  private readonly refresh = () => this.requestUpdate();
  private readonly resize = new ResizeObserver(() => this.drawBars());

  static override styles = [
    baseStyles,
    css`
      :host { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.9rem; padding: 1.3rem 0; border-top: 1.5px solid var(--ink); border-bottom: 1px solid var(--line); font-size: 0.875rem; }
      p { margin: 0; color: var(--ink-2); }
      .controls { gap: 0.6rem 1.2rem; }
      wa-progress-bar { --track-height: 5px; --track-color: var(--line); --indicator-color: var(--ink); }
      .scroll { overflow-x: auto; }
      table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
      caption { text-align: start; padding: 0.2rem 0 0.3rem; font-weight: 600; color: var(--ink-2); }
      th, td { text-align: end; vertical-align: top; font-weight: 400; padding: 0.3rem 0 0.3rem 0.8rem; border-top: 1px solid var(--line); }
      th:first-child { text-align: start; padding-left: 0; }
      thead th { border: 0; color: var(--ink-3); }
      td b { font-weight: 600; }
      @media (max-width: 480px) { th, td { padding-left: 0.5rem; } }
      small { display: block; color: var(--ink-3); white-space: nowrap; }
      .facts { color: var(--ink-3); font-size: 0.8rem; overflow-wrap: anywhere; }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.session.addEventListener('change', this.refresh);
    this.session.bench.addEventListener('change', this.refresh);
    this.resize.observe(this);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.session.removeEventListener('change', this.refresh);
    this.session.bench.removeEventListener('change', this.refresh);
    this.resize.disconnect();
    cancelDraw(this);
  }

  protected override updated(): void {
    this.drawBars();
  }

  private start(): void {
    if (this.obstacle() !== '') return;
    this.copied = 'no';
    void this.session.bench.start({ models: this.cell.large ? ['quick', 'd128'] : ['quick'] });
  }

  /** Why nothing can be measured now; empty when it can. */
  private obstacle(): string {
    const { session } = this;
    if (session.device?.available === false) return 'There is no graphics adapter to measure.';
    if (session.activeRunId !== null) return 'Not while a run occupies the adapter: stop it first.';
    return '';
  }

  /** The bars of the quick model, once it is complete: they would jump about while it is measured. */
  private drawBars(): void {
    const { report, active } = this.session.bench;
    const width = Math.floor(this.clientWidth);
    if (!report || active || width === 0 || !this.bars) return;
    if (this.drawn?.report === report && this.drawn.width === width && this.bars.hasChildNodes()) return;
    this.drawn = { report, width };
    draw(this, () => void this.redraw(report, width));
  }

  private readonly drawLate = () => {
    this.drawn = null;
    this.drawBars();
  };

  private async redraw(report: BenchReport, width: number): Promise<void> {
    const part = await benchBarsPart.get();
    if (!part) return;
    const rows = report.rows.filter(({ model }) => model === 'quick');
    const names = {
      engine: (name: string) => ENGINES[name as PeerName],
      task: (task: string) => SHORT_TASKS[task] ?? task,
    };
    this.bars?.replaceChildren(part.drawBenchBars(rows, names, width));
  }

  protected override render() {
    const { active, error, report } = this.session.bench;
    return html`
      ${this.controls()}
      ${active ? this.progress() : nothing}
      ${error ? html`<lab-error .error=${error} dismissible @dismiss=${() => this.session.bench.dismiss()}></lab-error>` : nothing}
      ${report ? this.results(report) : nothing}
    `;
  }

  private controls() {
    const { bench } = this.session;
    const obstacle = this.obstacle();
    // One button that changes its meaning, so that the keyboard stays where it is.
    return html`<div class="row controls">
      <wa-button
        size="m"
        variant=${bench.active ? 'neutral' : 'brand'}
        appearance=${bench.active ? 'outlined' : 'accent'}
        data-bench=${bench.active ? 'stop' : 'start'}
        ?disabled=${!bench.active && obstacle !== ''}
        @click=${() => (bench.active ? void bench.stop() : this.start())}
      >
        <wa-icon slot="start" name=${bench.active ? 'stop' : 'play'}></wa-icon>
        ${bench.active ? (bench.stopping ? 'Stopping…' : 'Stop') : bench.report ? 'Measure again' : 'Measure'}
      </wa-button>
      <wa-switch
        size="s"
        .checked=${this.cell.large}
        ?disabled=${bench.active}
        @change=${(e: Event) => {
          const large = (e.target as HTMLInputElement).checked;
          const detail = { ...this.cell, large };
          this.dispatchEvent(new CustomEvent('cell-change', { detail, bubbles: true, composed: true }));
        }}
      >Larger model too (takes much longer)</wa-switch>
      ${obstacle && !bench.active ? html`<p role="status">${obstacle}</p>` : nothing}
    </div>`;
  }

  private progress() {
    const { progress, stopping } = this.session.bench;
    const left = progress?.remainingMs == null ? '' : `, about ${duration(progress.remainingMs)} left`;
    const note = stopping ? 'Stopping after the piece of work in hand' : (progress?.note ?? 'Preparing');
    return html`<div>
      <p class="num"><span role="status">${note}</span>${stopping ? nothing : left}</p>
      <wa-progress-bar label="Measured" value=${100 * (progress?.share ?? 0)} ?indeterminate=${!progress}></wa-progress-bar>
    </div>`;
  }

  private results(report: BenchReport) {
    const { adapter, build, date, product, problems, rows, complete } = report;
    const { active } = this.session.bench;
    const models = [...new Set(rows.map(({ model }) => model))];
    return html`
      ${models.map((model) =>
        this.table(
          model,
          rows.filter((row) => row.model === model),
        ),
      )}
      ${rows.length > 0 && !active ? html`<lab-part-fault .of=${benchBarsPart} @part-ready=${this.drawLate}></lab-part-fault><div class="bars"></div>` : nothing}
      ${
        rows.length > 0
          ? html`<p>Median of the measurements, and below it the smallest and largest; × says how many times as fast this page is.</p>`
          : nothing
      }
      ${
        product
          ? html`<p class="num">Fastest matrix product: <b>${digits(product.gflops.median)} GFLOP/s</b>
              (${range(product.gflops)}), ${product.rows} × ${product.inputs} × ${product.outputs}.</p>`
          : nothing
      }
      ${problems.map((problem) => html`<lab-error .error=${problem}></lab-error>`)}
      ${complete || active ? nothing : html`<p>Stopped early: this is not all of it.</p>`}
      <p class="facts">${adapter} · build ${build} · ${shortDate(date)}. Kept until this page is left; not part of the notebook or its link.</p>
      ${active ? nothing : this.exports(report)}
    `;
  }

  private table(model: BenchModel, rows: readonly BenchRow[]) {
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${`Speeds: ${MODELS[model]}`}>
      <table>
        <caption>${MODELS[model]}</caption>
        <thead><tr>
          <th scope="col">tokens/s</th>
          ${peerNames.map((name) => html`<th scope="col">${ENGINES[name]}</th>`)}
        </tr></thead>
        <tbody>${rows.map(
          ({ task, tokensPerSecond: speeds }) => html`<tr>
            <th scope="row">${TASKS[task]}</th>
            ${peerNames.map((name) => html`<td>${this.number(speeds[name], name === 'ours' ? undefined : speeds.ours)}</td>`)}
          </tr>`,
        )}</tbody>
      </table>
    </div>`;
  }

  private number(speed: Spread | undefined, ours: Spread | undefined) {
    if (!speed) return '–';
    return html`<b>${digits(speed.median)}</b><small>${range(speed)}</small>
      ${ours ? html`<small>${`× ${(ours.median / speed.median).toFixed(1)}`}</small>` : nothing}`;
  }

  private exports(report: BenchReport) {
    const stem = `bench-${report.date.slice(0, 10)}`;
    const button = (icon: string, label: string, act: () => void) =>
      html`<wa-button size="s" appearance="plain" @click=${act}><wa-icon slot="start" name=${icon}></wa-icon>${label}</wa-button>`;
    return html`<div class="row">
      ${button('copy', 'Copy JSON', async () => {
        this.copied = (await copyText(benchJson(report))) ? 'yes' : 'refused';
      })}
      ${button('download', 'JSON', () => download(benchJson(report), `${stem}.json`, 'application/json'))}
      ${button('download', 'CSV', () => download(benchCsv(report), `${stem}.csv`, 'text/csv'))}
      <span role="status">${{ no: '', yes: 'Copied', refused: 'The browser refused; download the file.' }[this.copied]}</span>
    </div>`;
  }
}
