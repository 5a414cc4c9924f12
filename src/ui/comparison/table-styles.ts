/** What our table and the paper's have in common. */
import { css } from 'lit';
import type { EvalMode } from '../../core/experiment/experiment';
import { metricHelp } from '../../core/metrics/metrics';

/** Columns of a block, as the paper calls them. */
export const modeTitles: Readonly<Record<EvalMode, { readonly short: string; readonly definition: string }>> = {
  single: { short: 'single', definition: metricHelp.evalSingle },
  comp: { short: 'comp', definition: metricHelp.evalComp },
  long: { short: 'long', definition: 'Share of held-out episodes solved in a window twice as large, compaction off.' },
};

/** Narrow: one block at a time, chosen above the table; the first column stays in sight. */
export const tableStyles = css`
  :host {
    container-type: inline-size;
  }
  h3 {
    font: 600 1rem/1.3 var(--font-ui);
    margin: 0 0 0.6rem;
  }
  .pick {
    display: none;
    max-width: 22rem;
    margin-bottom: 0.6rem;
  }
  .scroll {
    overflow-x: auto;
  }
  .pair {
    display: flex;
    flex-wrap: wrap;
    gap: 1.2rem 1.5rem;
    align-items: flex-start;
  }
  .pair > * {
    min-width: 0;
    max-width: 100%;
  }
  table {
    /* Collapsed borders vanish under a cell that stays in sight. */
    border-collapse: separate;
    border-spacing: 0;
    font-size: 0.82rem;
    font-variant-numeric: tabular-nums;
  }
  caption {
    text-align: start;
    padding: 0 0 0.3rem;
    color: var(--ink-2);
    font-weight: 600;
    white-space: nowrap;
  }
  th,
  td {
    padding: 0.3rem 0 0.3rem 0.75rem;
    text-align: end;
    font-weight: 400;
    white-space: nowrap;
  }
  thead th {
    color: var(--ink-3);
    vertical-align: bottom;
  }
  thead th.group {
    text-align: start;
    color: var(--ink-2);
    font-weight: 600;
    padding-left: 1.1rem;
  }
  .first {
    padding-left: 1.1rem;
  }
  tbody tr > * {
    border-top: 1px solid var(--line);
  }
  tr > th:first-child[scope='row'],
  thead tr:first-child > th:first-child {
    text-align: start;
    padding-left: 0;
    padding-right: 0.4rem;
    position: sticky;
    left: 0;
    background: var(--paper);
    white-space: normal;
    min-width: 7rem;
    max-width: 12.5rem;
  }
  td small {
    color: var(--ink-3);
  }
  .note {
    font-size: 0.82rem;
    color: var(--ink-3);
    margin: 0.6rem 0 0;
    max-width: var(--column);
  }
  @container (max-width: 46rem) {
    .pick {
      display: block;
    }
    .block:not(.chosen) {
      display: none;
    }
    th,
    td,
    thead th.group,
    .first {
      padding-left: 0.55rem;
    }
    thead th.group {
      white-space: normal;
    }
    tr > th:first-child[scope='row'] {
      min-width: 5.2rem;
      max-width: 7.5rem;
    }
    td small {
      display: block;
    }
  }
`;
