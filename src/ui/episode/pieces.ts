/** Text with what became of its facts: underlined and ticked when kept, struck through when lost; words say it as well. */
import { css, html, type TemplateResult } from 'lit';
import { sanitise } from '../watch/sanitise';
import type { MarkedFact, Piece } from './marks';

export const pieces = (list: readonly Piece[]): readonly (TemplateResult | string)[] =>
  list.map(({ text, fact }) =>
    fact
      ? html`<mark class=${fact.fate} title=${`${fact.name}: ${fact.fate}`}>${sanitise(text)}</mark>`
      : sanitise(text),
  );

/** One line of a fold's card: the fact, and in words what became of it. */
export const verdict = ({ name, value, fate }: MarkedFact): TemplateResult =>
  html`<li class=${fate}><span aria-hidden="true">${fate === 'kept' ? '✓' : '✗'}</span> <b>${fate === 'kept' ? 'Kept' : 'Lost'}</b>: ${name === value ? '' : `${sanitise(name)} `}<mark class=${fate}>${sanitise(value)}</mark></li>`;

export const pieceStyles = css`
  mark { font-family: var(--font-mono); color: inherit; border-radius: 3px; padding: 0 0.15em; }
  mark.kept { background: var(--action-soft); color: var(--ink); text-decoration: underline; text-decoration-thickness: 1.5px; text-underline-offset: 2px; }
  mark.lost { background: var(--danger-soft); color: var(--ink); text-decoration: line-through; text-decoration-thickness: 1.5px; }
`;
