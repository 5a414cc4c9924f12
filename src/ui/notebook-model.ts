/**
 * The document being edited: cells with stable keys, and one level of undo for deletions. Pure apart from its listeners;
 * documents are never mutated.
 */
import { blankCell, type Cell, type CellKind } from '../notebook/cells';
import { DOCUMENT_VERSION, type NotebookDocument } from '../notebook/document';
import { limits } from '../notebook/limits';

export interface KeyedCell {
  /** Stable while the page is open; never stored. */
  readonly key: number;
  readonly cell: Cell;
}

let nextKey = 1;

export class NotebookModel extends EventTarget {
  #title: string;
  #items: readonly KeyedCell[];
  #deleted: { readonly item: KeyedCell; readonly index: number } | null = null;

  constructor(document: NotebookDocument) {
    super();
    this.#title = document.title;
    this.#items = document.cells.map((cell) => ({ key: nextKey++, cell }));
  }

  get title(): string {
    return this.#title;
  }
  get items(): readonly KeyedCell[] {
    return this.#items;
  }
  /** The cell an undo would bring back. */
  get deleted(): Cell | null {
    return this.#deleted?.item.cell ?? null;
  }
  get full(): boolean {
    return this.#items.length >= limits.cells;
  }
  get document(): NotebookDocument {
    return { version: DOCUMENT_VERSION, title: this.#title, cells: this.#items.map((item) => item.cell) };
  }

  rename(title: string): void {
    this.#title = title.trim().slice(0, limits.titleChars);
    this.#changed();
  }

  /** Inserts a cell before `index`. @returns its key */
  insert(index: number, cell: Cell | CellKind): number {
    const item = { key: nextKey++, cell: typeof cell === 'string' ? blankCell(cell) : cell };
    this.#items = [...this.#items.slice(0, index), item, ...this.#items.slice(index)];
    this.#changed();
    return item.key;
  }

  update(key: number, cell: Cell): void {
    this.#items = this.#items.map((item) => (item.key === key ? { key, cell } : item));
    this.#changed();
  }

  remove(key: number): void {
    const index = this.#items.findIndex((item) => item.key === key);
    const item = this.#items[index];
    if (!item) return;
    this.#deleted = { item, index };
    this.#items = this.#items.filter((other) => other !== item);
    this.#changed();
  }

  /** Puts the last deleted cell back where it was. @returns its key, or null */
  undoRemove(): number | null {
    const deleted = this.#deleted;
    if (!deleted) return null;
    this.#deleted = null;
    const index = Math.min(deleted.index, this.#items.length);
    this.#items = [...this.#items.slice(0, index), deleted.item, ...this.#items.slice(index)];
    this.#changed();
    return deleted.item.key;
  }

  /** Gives up the undo. */
  forgetRemoved(): void {
    this.#deleted = null;
    this.dispatchEvent(new Event('notice'));
  }

  /** Moves a cell one place up (−1) or down (1). @returns whether it moved */
  move(key: number, by: -1 | 1): boolean {
    const from = this.#items.findIndex((item) => item.key === key);
    const to = from + by;
    if (from < 0 || to < 0 || to >= this.#items.length) return false;
    const items = [...this.#items];
    [items[from], items[to]] = [items[to] as KeyedCell, items[from] as KeyedCell];
    this.#items = items;
    this.#changed();
    return true;
  }

  #changed(): void {
    this.dispatchEvent(new Event('change'));
  }
}
