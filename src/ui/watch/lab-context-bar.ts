/**
 * The context-budget bar: one cell per token of the window, filled in the order the model reads them, by kind; the reserve
 * hatched at the right; at a compaction the context folds up like paper into its summary. Kinds differ by hue, by pattern
 * and by height, so none depends on colour alone.
 */
import { css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { styleMap } from 'lit/directives/style-map.js';
import { LabElement } from '../lab-element';
import type { TokenRun, WatchState } from './watch-model';

/** Up to this window each token is drawn as its own cell; beyond, cells would be thinner than their gaps. */
const MAX_CELLS = 160;

@customElement('lab-context-bar')
export class LabContextBar extends LabElement {
  @property({ attribute: false }) watch!: WatchState;

  static override styles = css`
    :host { display: block; --bar: 34px; }
    .scale { position: relative; height: 1.15rem; font-size: 0.72rem; color: var(--ink-3); font-variant-numeric: tabular-nums; }
    .scale span { position: absolute; bottom: 2px; white-space: nowrap; }
    .scale .reserve-label { right: 0; }
    .track { position: relative; height: var(--bar); border-radius: 5px; background: var(--sunken); box-shadow: inset 0 0 0 1px var(--line); overflow: hidden; perspective: 700px; container-type: inline-size; }
    .reserve {
      position: absolute; inset: 0 0 0 auto; border-left: 1.5px dashed var(--line-strong);
      background: repeating-linear-gradient(-45deg, transparent 0 5px, color-mix(in oklab, var(--line-strong) 28%, transparent) 5px 6px);
    }
    .strip { position: absolute; inset: 0; display: flex; align-items: stretch; }
    .run { position: relative; flex: 0 0 auto; height: 100%; transition: width 90ms linear; overflow: hidden; }
    .run::after { content: ''; position: absolute; inset: 0; }
    /* The gaps between tokens: one paper-coloured line at the end of each cell. */
    .cells .run::after {
      background: repeating-linear-gradient(90deg, transparent 0 calc(var(--cell) - 1px), var(--sunken) calc(var(--cell) - 1px) var(--cell));
    }
    .context { background: var(--context); opacity: 0.62; }
    .observation { background: linear-gradient(transparent 0 32%, var(--observation) 32% 100%); }
    .action { background: var(--action); }
    .summary {
      background: repeating-linear-gradient(-45deg, rgb(255 255 255 / 28%) 0 2px, transparent 2px 5px), var(--summary);
    }
    .carried {
      background: repeating-linear-gradient(-45deg, rgb(255 255 255 / 28%) 0 2px, transparent 2px 5px), var(--summary);
      opacity: 0.78;
    }
    .carried::before, .summary::before {
      content: ''; position: absolute; z-index: 1; inset: auto 0 0 0; height: 3px; background: var(--ink);
    }
    .cursor { flex: none; width: 2px; background: var(--ink); opacity: 0.75; }

    /* A compaction: pleats that turn away and close; the summary alone stays and slides to where it will be read again. */
    .folding .run { animation: fold 900ms cubic-bezier(0.6, 0, 0.3, 1) forwards; transform-origin: left center; }
    .folding .run:nth-child(even) { animation-name: fold-back; transform-origin: right center; }
    .folding .run.summary { animation: none; }
    @keyframes fold { to { width: 0; transform: rotateY(88deg); filter: brightness(0.7); } }
    @keyframes fold-back { to { width: 0; transform: rotateY(-88deg); filter: brightness(0.85); } }

    @media (prefers-reduced-motion: reduce) {
      .run { transition: none; }
      .folding .run { animation: none; }
    }
    @media (forced-colors: active) {
      .run { forced-color-adjust: none; }
    }
    .legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; margin: 0.5rem 0 0; padding: 0; list-style: none; font-size: 0.8rem; color: var(--ink-2); }
    .legend li { display: inline-flex; align-items: center; gap: 0.4rem; }
    .chip { position: relative; width: 15px; height: 13px; border-radius: 2px; overflow: hidden; background-color: var(--sunken); }
    .chip > span { position: absolute; inset: 0; }
    .chip .reserve { position: absolute; inset: 0; border: 1px dashed var(--line-strong); }
    .legend .is-action { color: var(--action); font-weight: 600; }
    .legend .is-summary { color: var(--summary); font-weight: 600; text-decoration: underline; text-underline-offset: 3px; }
  `;

  protected override render() {
    const { window, reserve, used, compactions, folding, runs } = this.watch;
    const share = (tokens: number) => `${(100 * tokens) / Math.max(1, window)}%`;
    const strip: readonly TokenRun[] = folding ?? runs;
    const shown = folding ? folding.reduce((n, r) => n + r.tokens, 0) : used;
    return html`
      <div class="scale" aria-hidden="true">
        <span style="left:0">0</span>
        <span class="reserve-label">${window} tokens</span>
      </div>
      <div
        class="track"
        role="img"
        aria-label=${`Context: ${shown} of ${window} tokens, ${reserve} reserved; ${compactions} compactions so far`}
      >
        <div class="reserve" style=${styleMap({ width: share(reserve) })}></div>
        <div
          class="strip ${window <= MAX_CELLS ? 'cells' : ''} ${folding ? 'folding' : ''}"
          style=${styleMap({ '--cell': `calc(100cqw / ${window})` })}
        >
          ${strip.map((run) => html`<span class="run ${run.kind}" style=${styleMap({ width: share(run.tokens) })}></span>`)}
          ${shown > 0 && !folding ? html`<span class="cursor"></span>` : nothing}
        </div>
      </div>
      <ul class="legend">
        <li><span class="chip"><span class="context"></span></span>task and prompt</li>
        <li class="is-action"><span class="chip"><span class="action"></span></span>action</li>
        <li><span class="chip"><span class="observation"></span></span>terminal output</li>
        <li class="is-summary"><span class="chip"><span class="summary"></span></span>summary</li>
        <li><span class="chip"><span class="reserve"></span></span>reserve, ${reserve} tokens</li>
      </ul>
    `;
  }
}
