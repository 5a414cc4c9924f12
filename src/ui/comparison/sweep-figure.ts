/** Where the setups of an experiment are the values of one setting: the success of its arms against that setting. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import { configTable } from '../../core/config/config-table';
import { type EvalMode, evalModes } from '../../core/experiment/experiment';
import { type Sweep, sweepOf } from '../../core/experiment/swept';
import { SeenDrawing } from '../charts/seen-drawing';
import type { SweepLine } from '../charts/sweep-curves';
import { definitionStyles, definitionTip } from '../definition';
import { compact, percent } from '../format';
import { LabElement } from '../lab-element';
import { LazyPart } from '../lazy-part';
import '../part-fault';
import { baseStyles } from '../styles';
import type { Comparison } from './comparison';
import { exportButtons } from './export-buttons';
import { figureStyles } from './figure-styles';
import { modeTitles } from './table-styles';

const HEIGHT = 300;
/** Most arms that can be told apart by the looks that the drawing has. */
const MOST_ARMS = 4;
/** Width in files, px. */
const FILE_WIDTH = 640;
const MOST_WIDTH = 760;
export const sweepCurvesPart = new LazyPart('The curve', () => import('../charts/sweep-curves'));

@customElement('lab-sweep-figure')
export class LabSweepFigure extends LabElement {
  @property({ attribute: false }) comparison!: Comparison;
  @state() private mode: EvalMode = 'comp';
  @query('.drawing') private drawing!: HTMLElement | null;
  private readonly seen = new SeenDrawing(this, () => void this.redraw());

  static override styles = [
    baseStyles,
    definitionStyles,
    figureStyles,
    css`
      wa-select { max-width: 16rem; margin-bottom: 0.8rem; }
      lab-part-fault[failed] + .drawing { display: none; }
      .drawing { min-height: ${HEIGHT}px; max-width: ${MOST_WIDTH}px; }
      .note { margin: 0.6rem 0 0.4rem; }
    `,
  ];

  protected override firstUpdated(): void {
    if (this.drawing) this.seen.watch(this.drawing);
  }
  protected override updated(changed: PropertyValues<this>): void {
    if (changed.size > 0) this.seen.request();
  }

  private lines({ steps }: Sweep): SweepLine[] {
    const { comparison, mode } = this;
    return comparison.arms.slice(0, MOST_ARMS).map((arm) => ({
      title: arm.title,
      points: steps.flatMap(({ setup, value }) => {
        const sample = comparison.sample(setup.id, arm.id, mode);
        if (!sample || sample.mean === null) return [];
        const seeds = sample.values.map((seed) => seed.value);
        return [{ x: value, mean: sample.mean, interval: sample.interval, seeds }];
      }),
    }));
  }

  private async redraw(): Promise<void> {
    const sweep = sweepOf(this.comparison.experiment);
    if (!sweep || !(await sweepCurvesPart.get())) return;
    this.drawing?.replaceChildren(await this.svg(sweep, this.seen.width));
  }

  /** @throws LabError page.part-missing */
  private async svg(sweep: Sweep, width: number): Promise<Element> {
    const { drawSweep } = await sweepCurvesPart.need();
    const values = sweep.steps.map(({ value }) => value);
    return drawSweep(values, this.lines(sweep), configTable[sweep.key].label, width, HEIGHT);
  }

  /** What the drawing shows, for those who do not see it. */
  private words(sweep: Sweep): string {
    return this.lines(sweep)
      .map(
        ({ title, points }) =>
          `${title}: ${points.map(({ x, mean }) => `${percent(mean)} at ${compact(x)}`).join(', ') || 'nothing yet'}`,
      )
      .join('. ');
  }

  private heading(sweep: Sweep): string {
    return `Success against “${configTable[sweep.key].label}”`;
  }

  private caption(): string {
    const { comparison, mode } = this;
    const undrawn = comparison.arms.slice(MOST_ARMS);
    return (
      `${modeTitles[mode].definition} Symbols: mean over seeds. Bars: 95 % interval of the mean (${comparison.intervalNote()}). ` +
      'Grey: each seed. Settings stand at equal distances; arms at one setting stand side by side.' +
      (undrawn.length > 0 ? ` Not drawn: ${undrawn.map(({ title }) => title).join(', ')}.` : '')
    );
  }

  protected override render() {
    const sweep = sweepOf(this.comparison.experiment);
    if (!sweep) return nothing;
    const { id } = this.comparison.experiment;
    const { label, help } = configTable[sweep.key];
    return html`
      <h3>${this.heading(sweep)}${definitionTip(label, help)}</h3>
      <wa-select size="s" label="Evaluation" .value=${this.mode} @change=${(e: Event) => {
        this.mode = evalModes.find((mode) => mode === (e.target as HTMLInputElement).value) ?? this.mode;
      }}>${evalModes.map((mode) => html`<wa-option value=${mode}>${modeTitles[mode].short}</wa-option>`)}</wa-select>
      <lab-part-fault .of=${sweepCurvesPart} @part-ready=${() => this.seen.request()}></lab-part-fault>
      <div class="drawing" role="img" aria-label=${`${this.heading(sweep)}, ${modeTitles[this.mode].short}. ${this.words(sweep)}`}></div>
      <p class="note">${this.caption()}</p>
      ${exportButtons(`${id}-${sweep.key}-${this.mode}`, async () => ({
        title: this.heading(sweep),
        note: this.caption(),
        drawings: [{ title: modeTitles[this.mode].short, svg: await this.svg(sweep, FILE_WIDTH) }],
        columns: 1,
      }))}
    `;
  }
}
