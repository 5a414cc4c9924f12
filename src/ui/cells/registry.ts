/** How each kind of cell is shown: one file per kind, one line here. */
import { html, type TemplateResult } from 'lit';
import type {
  BenchCell,
  Cell,
  CellKind,
  ClaimsCell,
  ComparisonCell,
  EpisodeCell,
  ExperimentCell,
  ProseCell,
} from '../../notebook/cells';
import type { LabServices } from '../services';
import type { TrainerSession } from '../trainer-session';
import './bench';
import './claims';
import './comparison';
import type { ContentsEntry } from './contents';
import './contents';
import './episode';
import './experiment';
import './prose';

/** What a cell's view gets. A view never touches the page around it: it fires `cell-change` with the new cell. */
export interface CellContext {
  readonly services: LabServices;
  readonly session: TrainerSession;
  readonly editing: boolean;
  /** Headings of the whole notebook, in order. */
  readonly contents: readonly ContentsEntry[];
}

export interface CellView {
  /** The name in menus and labels. */
  readonly label: string;
  /** Figures may be wider than the column of text. */
  readonly wide: boolean;
  /** Whether the cell has a separate editing mode. */
  readonly editable: boolean;
  /** As the first cell of a notebook it stands directly under the title. */
  readonly opens?: boolean;
  render(cell: Cell, context: CellContext): TemplateResult;
}

export const cellViews: Readonly<Record<CellKind, CellView>> = {
  prose: {
    label: 'Text',
    wide: false,
    editable: true,
    render: (cell, { editing }) => html`<lab-prose .cell=${cell as ProseCell} ?editing=${editing}></lab-prose>`,
  },
  experiment: {
    label: 'Experiment',
    wide: true,
    editable: false,
    render: (cell, { services, session }) =>
      html`<lab-experiment .cell=${cell as ExperimentCell} .services=${services} .session=${session}></lab-experiment>`,
  },
  bench: {
    label: 'Bench',
    wide: false,
    editable: false,
    render: (cell, { session }) => html`<lab-bench .cell=${cell as BenchCell} .session=${session}></lab-bench>`,
  },
  comparison: {
    label: 'Comparison',
    wide: true,
    editable: false,
    render: (cell, { services, session }) =>
      html`<lab-comparison .cell=${cell as ComparisonCell} .services=${services} .session=${session}></lab-comparison>`,
  },
  claims: {
    label: 'All claims',
    wide: true,
    opens: true,
    editable: false,
    render: (cell, { services }) => html`<lab-claims .cell=${cell as ClaimsCell} .services=${services}></lab-claims>`,
  },
  episode: {
    label: 'Episode',
    wide: true,
    opens: true,
    editable: false,
    render: (cell, { services, session }) =>
      html`<lab-episode .cell=${cell as EpisodeCell} .services=${services} .session=${session}></lab-episode>`,
  },
  contents: {
    label: 'Contents',
    wide: true,
    opens: true,
    editable: false,
    render: (_, { contents }) => html`<lab-contents .entries=${contents}></lab-contents>`,
  },
};
