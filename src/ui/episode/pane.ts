/** One side of a pair: context meter, terminal, the card of the last fold, the outcome. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';
import { keyed } from 'lit/directives/keyed.js';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';
import { sanitise } from '../watch/sanitise';
import './context-meter';
import { pieceStyles, pieces, verdict } from './pieces';
import type { FoldCard, Line, PaneState } from './timeline';

@customElement('lab-episode-pane')
export class LabEpisodePane extends LabElement {
  /** What is shown, in the words above it. */
  @property() name = '';
  @property({ attribute: false }) state!: PaneState;
  @property({ type: Number }) window = 1;
  @query('.terminal') private terminal!: HTMLElement;

  static override styles = [
    baseStyles,
    pieceStyles,
    css`
      :host { display: grid; grid-template-columns: minmax(0, 1fr); grid-template-rows: auto auto minmax(0, 1fr) auto auto; gap: 0.45rem; font-size: 0.875rem; }
      h3 { font: 600 0.95rem/1.3 var(--font-ui); margin: 0; }
      .terminal { height: var(--terminal-height, 10.5rem); overflow: hidden auto; padding: 0.5rem 0.7rem; border-radius: 6px; background: var(--sunken); box-shadow: inset 0 0 0 1px var(--line); font: 0.8rem/1.5 var(--font-mono); }
      .terminal p { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
      .command { color: var(--action); font-weight: 600; }
      .command::before { content: '$ '; }
      .output { color: var(--ink-2); }
      .instruction::before { content: 'task '; color: var(--ink-3); }
      .summary { color: var(--summary); text-decoration: underline; text-underline-offset: 3px; margin-top: 0.25rem !important; }
      .summary::before { content: 'summary '; text-decoration: none; display: inline-block; margin-right: 1ch; }
      /* Fainter by weight and a dotted edge, not by opacity: it must stay readable. */
      .gone:not(.instruction) { color: var(--ink-2); font-weight: 400; border-left: 2px dotted var(--line-strong); padding-left: 0.5rem; }
      .card { height: var(--card-height, 6.4rem); overflow: hidden auto; border-radius: 6px; border: 1px solid var(--line); padding: 0.45rem 0.7rem; font-size: 0.8rem; line-height: 1.4; }
      .card.full { border-color: var(--summary); border-left-width: 4px; }
      .card p { margin: 0; overflow-wrap: anywhere; }
      .card .head { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 0.8rem; color: var(--ink-2); font-variant-numeric: tabular-nums; }
      .card .head b { color: var(--summary); }
      .text { font-family: var(--font-mono); margin: 0.15rem 0 !important; }
      ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0 1rem; }
      li.lost b { color: var(--danger); }
      .card.fresh { animation: unfold 500ms ease-out; }
      @keyframes unfold { from { transform: perspective(500px) rotateX(-60deg); opacity: 0; } }
      @media (prefers-reduced-motion: reduce) { .card.fresh { animation: none; } }
      .end { min-height: 1.45rem; margin: 0; overflow-wrap: anywhere; }
      .end.failed b { color: var(--danger); }
    `,
  ];

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('state')) this.terminal.scrollTop = this.terminal.scrollHeight;
  }

  protected override render() {
    const { state, window, name } = this;
    if (!state) return nothing;
    return html`
      <h3>${name}</h3>
      <lab-context-meter
        .used=${state.context}
        .window=${window}
        ?folding=${state.folding}
        ?folded=${state.fold !== null && state.end === null}
      ></lab-context-meter>
      <div class="terminal" tabindex="0" role="region" aria-label=${`Terminal, ${name}`}>
        ${state.lines.map((line) => this.line(line))}
      </div>
      ${state.fold ? keyed(state.fold.number, this.card(state.fold)) : html`<div class="card quiet">No summary yet: nothing has been folded.</div>`}
      ${this.outcome()}
    `;
  }

  private line({ kind, pieces: list, seen }: Line) {
    return html`<p class="${kind} ${seen ? '' : 'gone'}" title=${seen ? nothing : 'No longer in the context'}>${pieces(list)}</p>`;
  }

  private card({ number, of, before, after, summary, facts }: FoldCard) {
    return html`<div class="card full fresh" data-fold=${number} tabindex="0" role="region" aria-label=${`Summary ${number} of ${of}, ${this.name}`}>
      <p class="head"><b>Summary ${number} of ${of}</b><span>${before} → ${after} tokens</span></p>
      <p class="text">${summary.length > 0 ? pieces(summary) : '(empty)'}</p>
      <ul>${facts.map(verdict)}</ul>
    </div>`;
  }

  private outcome() {
    const { end } = this.state;
    if (!end) return html`<p class="end quiet">Working …</p>`;
    return html`<p class="end ${end.success ? 'solved' : 'failed'}">
      <span aria-hidden="true">${end.success ? '✓' : '✗'}</span> <b>${end.success ? 'Solved' : 'Failed'}</b>${end.text ? html`: ${sanitise(end.text)}` : nothing}
    </p>`;
  }
}
