/**
 * One small multiple: title, readout, the drawing, and a cursor that all charts of an experiment share. Reads by pointer
 * and by keyboard (arrow keys), and says its values in words.
 */
import { css, html, nothing, type PropertyValues, svg } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import type { CurveRecord, IterationRecord } from '../../core/metrics/records';
import { definitionStyles, definitionTip } from '../definition';
import { ordinal } from '../format';
import { LabElement } from '../lab-element';
import { LazyPart } from '../lazy-part';
import '../part-fault';
import { type ChartSpec, formatValue, type SeriesSpec, valueAt } from './chart-specs';
import type { Drawn } from './plot';
import { SeenDrawing } from './seen-drawing';

const HEIGHT = 132;
export const plotPart = new LazyPart('The charts', () => import('./plot'));

@customElement('lab-chart')
export class LabChart extends LabElement {
  @property({ attribute: false }) spec!: ChartSpec;
  @property({ attribute: false }) records: readonly IterationRecord[] = [];
  /** An earlier run, drawn in grey beneath; read out as long as there is no other. */
  @property({ attribute: false }) recorded: readonly CurveRecord[] = [];
  /** Changes when `records` has grown. */
  @property({ type: Number }) version = 0;
  @property({ type: Number }) iterations = 1;
  /** Index into the run that is read out, of the shared cursor; null = the newest. */
  @property({ type: Number }) cursor: number | null = null;

  @query('.drawing') private drawing!: HTMLElement;
  @query('.rule') private rule!: HTMLElement;
  @state() private drawn: Drawn | null = null;
  private readonly seen = new SeenDrawing(this, () => {
    if (this.lead.length > 0) void this.redraw();
  });

  static override styles = [
    definitionStyles,
    css`
      :host { display: block; min-width: 0; }
      header { display: flex; align-items: baseline; gap: 0.35rem; min-height: 1.6rem; }
      h4 { font: 600 0.875rem/1.3 var(--font-ui); margin: 0; }
      .unit { color: var(--ink-3); font-size: 0.75rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
      lab-part-fault[failed] + .figure { display: none; }
      .figure { position: relative; border-radius: 4px; }
      .figure:focus-visible { outline: 2px solid var(--focus); outline-offset: 3px; }
      .drawing { height: ${HEIGHT}px; }
      .drawing svg { display: block; max-width: 100%; }
      .rule { position: absolute; top: 8px; bottom: 24px; width: 1px; background: var(--ink); opacity: 0.45; pointer-events: none; }
      .readout { display: flex; flex-wrap: wrap; gap: 0.1rem 0.9rem; margin: 0.15rem 0 0; padding: 0; list-style: none; font-size: 0.78rem; color: var(--ink-2); font-variant-numeric: tabular-nums; }
      .readout li { display: inline-flex; align-items: center; gap: 0.35rem; white-space: nowrap; }
      .readout b { color: var(--ink); font-weight: 600; }
      .readout svg { width: 20px; height: 8px; flex: none; }
      .empty { position: absolute; inset: 0 0 24px 46px; display: grid; place-items: center; color: var(--ink-3); font-size: 0.8rem; }
    `,
  ];

  protected override firstUpdated(): void {
    this.seen.watch(this.drawing);
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('records') || changed.has('recorded') || changed.has('version') || changed.has('iterations'))
      this.seen.request();
    this.placeRule();
  }

  /** The run that is read out. */
  private get lead(): readonly CurveRecord[] {
    return this.records.length > 0 ? this.records : this.recorded;
  }

  private async redraw(): Promise<void> {
    const plot = await plotPart.get();
    if (!plot || !this.isConnected) return;
    const drawn = plot.drawChart(this.spec, this.records, this.recorded, this.iterations, this.seen.width, HEIGHT);
    this.drawing.replaceChildren(drawn.svg);
    this.drawn = drawn;
  }

  private placeRule(): void {
    const record = this.cursor === null ? undefined : this.lead[this.cursor];
    this.rule.hidden = !record || !this.drawn;
    if (record && this.drawn) this.rule.style.left = `${this.drawn.x(ordinal(record.iteration))}px`;
  }

  private moveCursor(index: number | null): void {
    const clamped = index === null ? null : Math.max(0, Math.min(this.lead.length - 1, index));
    this.dispatchEvent(new CustomEvent('cursor', { detail: clamped, bubbles: true, composed: true }));
  }

  private onPointer(event: PointerEvent): void {
    if (!this.drawn || this.lead.length === 0) return;
    const at = this.drawn.iteration(event.clientX - this.drawing.getBoundingClientRect().left);
    const first = ordinal(this.lead[0]?.iteration ?? 0);
    this.moveCursor(Math.round(at - first));
  }

  private onKey(event: KeyboardEvent): void {
    const last = this.lead.length - 1;
    const from = this.cursor ?? last;
    const to = {
      ArrowLeft: from - 1,
      ArrowRight: from + 1,
      Home: 0,
      End: last,
      PageUp: from - 10,
      PageDown: from + 10,
    }[event.key];
    if (event.key === 'Escape') this.moveCursor(null);
    if (to === undefined) return;
    event.preventDefault();
    this.moveCursor(to);
  }

  protected override render() {
    const { lead } = this;
    const old = this.records.length === 0 && lead.length > 0;
    const index = this.cursor ?? lead.length - 1;
    const at = lead[index];
    // A result file keeps only some metrics.
    const series = this.spec.series.filter((s) => !old || valueAt(s, lead, lead.length - 1) !== null);
    const words = series.map((s) => `${s.label} ${formatValue(this.spec, valueAt(s, lead, index))}`).join(', ');
    return html`
      <header>
        <h4>${this.spec.title}</h4>
        <span class="unit">${this.spec.unit}</span>
        ${definitionTip(this.spec.title, this.spec.definition)}
      </header>
      <lab-part-fault .of=${plotPart} @part-ready=${() => this.seen.request()}></lab-part-fault>
      <div
        class="figure"
        tabindex="0"
        role="slider"
        aria-label=${`${this.spec.title}, ${this.spec.unit}`}
        aria-orientation="horizontal"
        aria-valuemin=${ordinal(lead[0]?.iteration ?? 0)}
        aria-valuemax=${ordinal(lead.at(-1)?.iteration ?? 0)}
        aria-valuenow=${ordinal(at?.iteration ?? 0)}
        aria-valuetext=${at ? `${old ? 'recorded run, ' : ''}iteration ${ordinal(at.iteration)}: ${words}` : 'no data yet'}
        @pointermove=${this.onPointer}
        @pointerdown=${this.onPointer}
        @pointerleave=${() => this.moveCursor(null)}
        @blur=${() => this.moveCursor(null)}
        @keydown=${this.onKey}
      >
        <div class="drawing"></div>
        <div class="rule" hidden></div>
        ${lead.length === 0 ? html`<div class="empty">after the first iteration</div>` : nothing}
      </div>
      <ul class="readout" aria-hidden="true">
        ${series.map(
          (s) => html`<li>
            ${this.spec.series.length > 1 ? html`${swatch(s, old)}<span>${s.label}</span>` : nothing}
            <b>${formatValue(this.spec, at ? valueAt(s, lead, index) : null)}</b>
          </li>`,
        )}
      </ul>
    `;
  }
}

/** A short stroke as the legend of a series. */
function swatch(series: SeriesSpec, recorded: boolean) {
  const own = {
    ink: 'var(--ink)',
    quiet: 'var(--observation)',
    action: 'var(--action)',
    summary: 'var(--summary)',
  }[series.style];
  const stroke = recorded ? 'var(--recorded)' : own;
  const mark = recorded
    ? nothing
    : series.marker === 'square'
      ? svg`<rect x="7" y="1" width="6" height="6" fill="var(--paper)" stroke=${stroke} stroke-width="1.4" />`
      : series.marker
        ? svg`<circle cx="10" cy="4" r="3" fill=${stroke} />`
        : nothing;
  return html`<svg viewBox="0 0 20 8" aria-hidden="true">
    ${svg`<line x1="0" y1="4" x2="20" y2="4" stroke=${stroke} stroke-width="2" stroke-dasharray=${series.dash ?? 'none'} />`}
    ${mark}
  </svg>`;
}
