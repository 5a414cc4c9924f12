/** How much of the window is used: fills as the episode goes on, and folds up like paper when the context is replaced. */
import { css, html } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { styleMap } from 'lit/directives/style-map.js';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';

const PLEATS = 12;

@customElement('lab-context-meter')
export class LabContextMeter extends LabElement {
  /** Tokens. */
  @property({ type: Number }) used = 0;
  @property({ type: Number }) window = 1;
  @property({ type: Boolean }) folding = false;
  /** The context begins with a summary of what came before. */
  @property({ type: Boolean }) folded = false;

  static override styles = [
    baseStyles,
    css`
      :host { display: block; }
      .words { display: flex; justify-content: space-between; gap: 0.5rem; font-size: 0.75rem; line-height: 1.35; color: var(--ink-2); font-variant-numeric: tabular-nums; }
      .words b { color: var(--ink); font-weight: 600; }
      .track { height: 14px; margin-top: 2px; border-radius: 4px; background: var(--sunken); box-shadow: inset 0 0 0 1px var(--line-strong); overflow: hidden; perspective: 500px; }
      .fill { height: 100%; display: flex; transition: width 260ms ease-out; }
      .fill span { flex: 1; background: var(--action); }
      .fill.folded span:nth-child(-n + 3) { background: repeating-linear-gradient(-45deg, rgb(255 255 255 / 30%) 0 2px, transparent 2px 5px), var(--summary); }
      .fill.folding { transition: width 900ms cubic-bezier(0.6, 0, 0.3, 1); }
      .fill.folding span { animation: pleat 900ms cubic-bezier(0.6, 0, 0.3, 1) forwards; }
      .fill.folding span:nth-child(even) { animation-name: pleat-back; }
      @keyframes pleat { to { transform: rotateY(70deg); filter: brightness(0.7); } }
      @keyframes pleat-back { to { transform: rotateY(-70deg); filter: brightness(0.9); } }
      @media (prefers-reduced-motion: reduce) {
        .fill, .fill.folding { transition: none; }
        .fill.folding span { animation: none; }
      }
      @media (forced-colors: active) { .fill span { forced-color-adjust: none; } }
    `,
  ];

  protected override render() {
    const { used, window, folding, folded } = this;
    const width = `${Math.min(100, (100 * used) / Math.max(1, window))}%`;
    return html`
      <div class="words"><span>${folding ? 'Context: folding' : 'Context'}</span><span><b>${used}</b> of ${window} tokens</span></div>
      <div class="track" role="img" aria-label=${`Context: ${used} of ${window} tokens${folding ? ', folding' : ''}`}>
        <div class="fill ${folding ? 'folding' : ''} ${folded ? 'folded' : ''}" style=${styleMap({ width: folding ? '8%' : width })}>
          ${Array.from({ length: PLEATS }, () => html`<span></span>`)}
        </div>
      </div>
    `;
  }
}
