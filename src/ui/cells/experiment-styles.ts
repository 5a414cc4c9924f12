import { css } from 'lit';

/** Layout of an experiment cell: a figure between two hairlines, its parts separated by space, not by boxes. */
export const experimentStyles = css`
  :host {
    display: block;
  }
  .frame {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 1.4rem;
    padding: 1.5rem 0;
    border-top: 1.5px solid var(--ink);
    border-bottom: 1px solid var(--line);
  }
`;
