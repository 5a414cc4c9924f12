/** The column of cells: title, cells with their tools, and places to insert between them. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { keyed } from 'lit/directives/keyed.js';
import { repeat } from 'lit/directives/repeat.js';
import { type Cell, cellKinds } from '../notebook/cells';
import { headingOf } from '../notebook/headings';
import { limits } from '../notebook/limits';
import { type CellFault, cellFault } from './cell-fault';
import type { GoToCell } from './cells/contents';
import type { TrainRequest } from './cells/episode';
import type { LabExperiment } from './cells/experiment';
import { type CellContext, cellViews } from './cells/registry';
import { type IconName, icon } from './icons';
import { type DrawFault, LabElement } from './lab-element';
import type { KeyedCell, NotebookModel } from './notebook-model';
import type { LabServices } from './services';
import { baseStyles } from './styles';
import type { TrainerSession } from './trainer-session';

@customElement('lab-notebook')
export class LabNotebook extends LabElement {
  @property({ attribute: false }) model!: NotebookModel;
  @property({ attribute: false }) services!: LabServices;
  @property({ attribute: false }) session!: TrainerSession;
  @state() private editing: number | null = null;
  @state() private editingTitle = false;
  @state() private spoken = '';
  private listened: NotebookModel | null = null;
  /** Cells that could not be drawn, by key, until they change or are tried again. */
  private readonly faults = new Map<number, CellFault>();
  private readonly onModel = () => this.requestUpdate();

  static override styles = [
    baseStyles,
    css`
      :host { display: block; padding: 0 var(--gutter); }
      .title { max-width: var(--column); margin: clamp(2.2rem, 6vw, 4.5rem) auto 1.6rem; display: flex; align-items: flex-start; gap: 0.6rem; }
      .title.opening { max-width: var(--figure); margin: clamp(0.6rem, 1.6vw, 1.2rem) auto 0; }
      .title.opening h1 { font-size: clamp(1.6rem, 1.2rem + 1.6vw, 2.2rem); }
      .title.opening + .insert { min-height: 0; height: 0; position: relative; z-index: 1; }
      h1 { font-family: var(--font-prose); font-weight: 600; font-size: clamp(1.9rem, 1.3rem + 2.6vw, 3rem); line-height: 1.12; letter-spacing: -0.02em; margin: 0; text-wrap: balance; overflow-wrap: anywhere; }
      /* Its tools lie over the end of the first line, where a pointer brings them out, and take no room before. */
      @media (hover: hover) { .title.opening + .insert + .cell > .tools { position: absolute; right: 0; background: var(--paper); } }
      .title wa-input { flex: 1; }
      .title wa-button { opacity: 0; transition: opacity 120ms; }
      .title:hover wa-button, .title:focus-within wa-button { opacity: 1; }
      @media (hover: none) { .title wa-button { opacity: 1; } }
      .cell { position: relative; max-width: var(--column); margin: 0 auto; scroll-margin-top: 5rem; }
      .cell.wide { max-width: var(--figure); }
      .cell:focus-visible { outline: 2px solid var(--focus); outline-offset: 10px; border-radius: 4px; }
      .tools { display: flex; gap: 0.1rem; justify-content: flex-end; height: 30px; opacity: 0; transition: opacity 120ms; }
      .cell:hover > .tools, .cell:focus-within > .tools { opacity: 1; }
      .small { all: unset; box-sizing: border-box; display: inline-flex; align-items: center; justify-content: center; gap: 0.4rem; min-width: 30px; min-height: 28px; padding: 0 0.45rem; border-radius: 5px; font-size: 0.8rem; color: var(--ink-2); cursor: pointer; }
      .small:hover:not(:disabled) { background: var(--sunken); color: var(--ink); }
      .small:focus-visible { outline: 2px solid var(--focus); }
      .small:disabled { opacity: 0.4; cursor: default; }
      @media (hover: none) { .tools { opacity: 1; } .tools .small { color: var(--ink-3); } }
      .fault { display: grid; gap: 0.6rem; min-width: 0; }
      .fault summary { cursor: pointer; width: max-content; font-size: 0.85rem; color: var(--ink-2); }
      .fault pre { max-height: 16rem; overflow: auto; margin: 0.4rem 0 0; padding: 0.8em 1em; background: var(--sunken); border-radius: 4px; font: 0.8rem/1.5 var(--font-mono); white-space: pre-wrap; overflow-wrap: anywhere; }
      .insert { max-width: var(--column); margin: 0 auto; display: flex; align-items: center; gap: 0.3rem; min-height: 2.2rem; }
      .insert::before, .insert::after { content: ''; flex: 1; height: 1px; background: var(--line); opacity: 0; transition: opacity 120ms; }
      .insert .buttons { opacity: 0.001; transition: opacity 120ms; display: flex; flex-wrap: wrap; justify-content: center; gap: 0.2rem; }
      .insert:hover .buttons, .insert:focus-within .buttons, .insert.last .buttons { opacity: 1; }
      .insert:hover::before, .insert:hover::after, .insert:focus-within::before, .insert:focus-within::after, .insert.last::before, .insert.last::after { opacity: 1; }
      /* A phone has no room for several lines of them between any two cells. */
      @media (max-width: 40rem) { .insert:not(.last) .buttons { flex-wrap: nowrap; min-width: 0; overflow-x: auto; } .insert:not(.last) .small { flex: none; } }
      /* Without a pointer the places between cells show when tapped; the one at the end always does. */
      .undo { position: fixed; z-index: 20; left: 50%; bottom: 1.2rem; transform: translateX(-50%); background: var(--ink); color: var(--paper); border-radius: 8px; padding: 0.4rem 0.5rem 0.4rem 1rem; display: flex; gap: 0.8rem; align-items: center; font-size: 0.9rem; box-shadow: var(--shadow); max-width: calc(100vw - 2rem); }
      .undo button { all: unset; cursor: pointer; font-weight: 600; padding: 0.35rem 0.7rem; border-radius: 5px; text-decoration: underline; text-underline-offset: 3px; }
      .undo button:focus-visible { outline: 2px solid var(--paper); }
      @media (prefers-reduced-motion: reduce) { .tools, .insert .buttons, .insert::before, .insert::after { transition: none; } }
    `,
  ];

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('model') || this.model === this.listened) return;
    for (const type of ['change', 'notice']) {
      this.listened?.removeEventListener(type, this.onModel);
      this.model.addEventListener(type, this.onModel);
    }
    this.listened = this.model;
    this.faults.clear();
    this.editing = null;
    this.editingTitle = false;
  }

  /** Brings a cell into view and gives it the focus. */
  async focusCell(key: number): Promise<void> {
    await this.updateComplete;
    const cell = this.renderRoot.querySelector<HTMLElement>(`#cell-${key}`);
    cell?.scrollIntoView({ behavior: 'auto', block: 'start' });
    cell?.focus({ preventScroll: true });
  }

  private insert(index: number, kind: (typeof cellKinds)[number]): void {
    const key = this.model.insert(index, kind);
    this.editing = cellViews[kind].editable ? key : null;
    this.spoken = `${cellViews[kind].label} inserted`;
    void this.focusCell(key);
  }

  /** Brings the first experiment of the preset into view and starts it; where there is none, it is inserted after the cell that asked. */
  private async train(after: number, preset: string): Promise<void> {
    const experiment = this.model.items.find(({ cell }) => cell.kind === 'experiment' && cell.preset === preset);
    const key = experiment?.key ?? this.model.insert(after + 1, { kind: 'experiment', preset, seed: 1, config: {} });
    await this.focusCell(key);
    const view = this.renderRoot.querySelector<LabExperiment>(`#cell-${key} lab-experiment`);
    await view?.updateComplete;
    view?.begin();
  }

  private removeCell({ key, cell }: KeyedCell): void {
    this.model.remove(key);
    this.spoken = `${cellViews[cell.kind].label} deleted. Undo is offered at the bottom of the page.`;
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('.undo button')?.focus());
  }

  private undo(): void {
    const key = this.model.undoRemove();
    this.spoken = 'Deletion undone';
    if (key !== null) void this.focusCell(key);
  }

  private async move(key: number, by: -1 | 1, event: Event): Promise<void> {
    const button = event.currentTarget as HTMLElement;
    if (!this.model.move(key, by)) return;
    this.spoken = by < 0 ? 'Moved up' : 'Moved down';
    await this.updateComplete;
    button.focus();
    button.scrollIntoView({ block: 'nearest' });
  }

  protected override render() {
    const { model } = this;
    if (!model) return nothing;
    return html`
      ${this.title_()}
      ${repeat(
        model.items,
        (item) => item.key,
        (item, i) => html`${i === 0 ? this.inserter(0) : nothing}${this.cell(item, i)}${this.inserter(i + 1)}`,
      )}
      ${model.items.length === 0 ? this.inserter(0) : nothing}
      <p class="visually-hidden" role="status" aria-live="polite">${this.spoken}</p>
      ${
        model.deleted
          ? html`<div class="undo">
              <span>${cellViews[model.deleted.kind].label} deleted</span>
              <button type="button" @click=${this.undo}>Undo</button>
              <button type="button" aria-label="Dismiss" @click=${() => model.forgetRemoved()}>✕</button>
            </div>`
          : nothing
      }
    `;
  }

  private title_() {
    const { model } = this;
    const rename = (event: Event) => {
      model.rename((event.target as HTMLInputElement).value);
    };
    // Some cells say what the title says: they stand directly under it.
    const first = model.items[0]?.cell.kind;
    return html`<div class="title ${first && cellViews[first].opens ? 'opening' : ''}">
      ${
        this.editingTitle
          ? html`<wa-input
              label="Title of the notebook"
              autofocus
              maxlength=${limits.titleChars}
              .value=${model.title}
              @change=${rename}
              @blur=${() => {
                this.editingTitle = false;
              }}
              @keydown=${(e: KeyboardEvent) => {
                if (e.key === 'Enter' || e.key === 'Escape') (e.target as HTMLElement).blur();
              }}
            ></wa-input>`
          : html`<h1>${model.title || 'Untitled notebook'}</h1>
              <wa-button
                size="s"
                appearance="plain"
                @click=${async () => {
                  this.editingTitle = true;
                  await this.updateComplete;
                  this.renderRoot.querySelector<HTMLElement>('.title wa-input')?.focus();
                }}
                ><wa-icon name="pencil" label="Edit the title"></wa-icon
              ></wa-button>`
      }
    </div>`;
  }

  private inserter(index: number) {
    const last = index === this.model.items.length;
    return html`<div class="insert ${last ? 'last' : ''}">
      <div class="buttons">
        ${
          this.model.full
            ? html`<span class="quiet">A notebook holds at most ${limits.cells} cells.</span>`
            : cellKinds.map(
                (kind) => html`<button type="button" class="small" @click=${() => this.insert(index, kind)}>
                  ${icon('plus')}${cellViews[kind].label}
                </button>`,
              )
        }
      </div>
    </div>`;
  }

  private cell(item: KeyedCell, index: number) {
    const { key, cell } = item;
    const view = cellViews[cell.kind];
    const editing = this.editing === key;
    const done = () => {
      this.editing = null;
      void this.focusCell(key);
    };
    const tool = (name: IconName, label: string, act: (e: Event) => void, disabled = false) =>
      html`<button type="button" class="small" aria-label=${label} title=${label} ?disabled=${disabled} @click=${act}>
        ${icon(name)}
      </button>`;
    return html`<section
      class="cell ${view.wide ? 'wide' : ''}"
      id="cell-${key}"
      tabindex="-1"
      aria-label="${view.label}, cell ${index + 1} of ${this.model.items.length}"
      @cell-change=${(e: CustomEvent<Cell>) => this.model.update(key, e.detail)}
      @cell-done=${done}
      @draw-fault=${(e: DrawFault) => {
        e.preventDefault();
        this.faults.set(key, { cell, thrown: e.thrown });
        this.requestUpdate();
      }}
      @go-to-cell=${(e: GoToCell) => void this.focusCell(e.detail)}
      @train=${(e: TrainRequest) => void this.train(index, e.detail.preset)}
    >
      <div class="tools">
        ${
          view.editable
            ? editing
              ? tool('check', 'Done', done)
              : tool('pencil', 'Edit', () => {
                  this.editing = key;
                })
            : nothing
        }
        ${tool('up', 'Move up', (e) => void this.move(key, -1, e), index === 0)}
        ${tool('down', 'Move down', (e) => void this.move(key, 1, e), index === this.model.items.length - 1)}
        ${tool('trash', 'Delete', () => this.removeCell(item))}
      </div>
      ${keyed(key, this.content(item, index))}
    </section>`;
  }

  private context(editing: boolean): CellContext {
    const contents = this.model.items.flatMap(({ key, cell }) => {
      const title = headingOf(cell);
      return title === null ? [] : [{ key, title }];
    });
    return { services: this.services, session: this.session, editing, contents };
  }

  /** The cell itself, or why it could not be drawn: one cell's fault is shown in that cell, and the others live on. */
  private content({ key, cell }: KeyedCell, index: number) {
    const view = cellViews[cell.kind];
    const editing = this.editing === key;
    const known = this.faults.get(key);
    // What is edited is not drawn, and a changed cell deserves another try.
    if (known && (editing || known.cell !== cell)) this.faults.delete(key);
    try {
      if (!this.faults.has(key)) return view.render(cell, this.context(editing));
    } catch (thrown) {
      this.faults.set(key, { cell, thrown });
    }
    return cellFault(this.faults.get(key) as CellFault, `${view.label}, cell ${index + 1}`, () => {
      this.faults.delete(key);
      this.requestUpdate();
    });
  }
}
