import { css } from 'lit';

/** What the figures of the comparison have in common: title, drawing, the note below. */
export const figureStyles = css`
  :host {
    display: block;
  }
  h3 {
    font: 600 1rem/1.3 var(--font-ui);
    margin: 0 0 0.6rem;
    display: flex;
    align-items: center;
    gap: 0.3rem;
  }
  .drawing svg {
    display: block;
    max-width: 100%;
  }
  .note {
    font-size: 0.82rem;
    color: var(--ink-3);
    max-width: var(--column);
  }
`;
