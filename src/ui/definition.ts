/** The small "what is this?" button beside a term: its definition on hover, focus and touch. */
import { css, html } from 'lit';

let nextId = 1;
const ids = new Map<string, string>();

/** A stable id per term and definition, so that re-rendering does not break the link between button and tooltip. */
function idOf(term: string): string {
  let id = ids.get(term);
  if (!id) {
    id = `def-${nextId++}`;
    ids.set(term, id);
  }
  return id;
}

/** @returns a focusable button and its tooltip; use once per term within one shadow root */
export function definitionTip(term: string, definition: string) {
  const id = idOf(term);
  return html`<button type="button" class="def" id=${id} aria-label=${`${term}: ${definition}`}>
      <wa-icon name="info"></wa-icon></button
    ><wa-tooltip for=${id} aria-hidden="true" class="def-tip">${definition}</wa-tooltip>`;
}

export const definitionStyles = css`
  .def {
    all: unset;
    display: inline-grid;
    place-items: center;
    flex: none;
    width: 24px;
    height: 24px;
    margin: -5px -4px;
    border-radius: 50%;
    color: var(--ink-3);
    font-size: 0.8rem;
    cursor: help;
    align-self: center;
  }
  .def:hover {
    color: var(--ink);
  }
  .def:focus-visible {
    outline: 2px solid var(--focus);
  }
  .def-tip {
    --max-width: min(22rem, 80vw);
    font-weight: 400;
  }
`;
