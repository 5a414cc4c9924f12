/** Which notebook is open, and its draft: autosave, forks of links, opening and deleting. */
import { errorParts, type LabErrorParts } from '../core/errors';
import type { NotebookDocument } from '../notebook/document';
import { NotebookModel } from './notebook-model';
import type { LabServices, NotebookShelf, SavedNotebook, ShippedNotebook } from './services';
import { addressIsBare, nameInAddress, readLink, showInAddress } from './share';

const AUTOSAVE_MS = 700;

/**
 * - `home`: a shipped notebook, not changed yet; the first change makes a draft of it
 * - `draft`: kept in this browser, saved after every change
 * - `link`: came with a link; nothing is saved until the visitor asks for it
 */
export type Origin = 'home' | 'draft' | 'link';

export class Library extends EventTarget {
  model: NotebookModel;
  origin: Origin = 'home';
  notebooks: readonly SavedNotebook[] = [];
  error: LabErrorParts | null = null;
  /** When the draft was last written; null before. */
  savedAt: Date | null = null;
  persistent = true;
  ready = false;
  readonly #services: LabServices;
  #shelf: NotebookShelf | null = null;
  #id: string | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onChange = () => this.#touched();

  constructor(services: LabServices) {
    super();
    this.#services = services;
    this.model = new NotebookModel(services.home);
    this.model.addEventListener('change', this.#onChange);
  }

  get id(): string | null {
    return this.#id;
  }

  /** Opens what the address carries, else the notebook saved last, else the home notebook. */
  async start(): Promise<void> {
    const linked = await this.openAddress();
    try {
      this.#shelf = await this.#services.openShelf((notice) =>
        this.dispatchEvent(new CustomEvent('notice', { detail: notice })),
      );
      this.persistent = this.#shelf.persistent;
      this.notebooks = await this.#shelf.list();
      const last = this.notebooks[0];
      if (!linked && last && this.origin === 'home') await this.open(last.id);
    } catch (thrown) {
      this.error ??= errorParts(thrown);
    }
    this.ready = true;
    this.#changed();
  }

  /** @returns whether the address carried a notebook (readable or not) */
  async openAddress(): Promise<boolean> {
    const name = nameInAddress();
    const shipped = this.shipped.find((notebook) => notebook.name === name);
    try {
      if (shipped) {
        await this.openShipped(shipped);
        return true;
      }
      const document = await readLink();
      if (!document) return false;
      await this.flush();
      this.#show(document, 'link', null);
    } catch (thrown) {
      this.error = errorParts(thrown);
      this.#changed();
    }
    return true;
  }

  /** After the address changed: what it names now; back at the bare address, what the page would have opened with. */
  async followAddress(): Promise<void> {
    if ((await this.openAddress()) || !addressIsBare() || this.origin !== 'home') return;
    const last = this.notebooks[0];
    if (last) await this.open(last.id);
    else this.#show(this.#services.home, 'home', null);
  }

  async open(id: string): Promise<void> {
    await this.flush();
    const document = await this.#shelf?.load(id);
    if (!document) return;
    this.#show(document, 'draft', id);
    showInAddress(null);
  }

  /** The notebooks that the page comes with, the one for the first visit first. */
  get shipped(): readonly ShippedNotebook[] {
    const { home, shipped } = this.#services;
    return [{ name: 'introduction', document: home, about: 'the notebook this page begins with' }, ...shipped];
  }

  openHome(): Promise<void> {
    return this.openShipped(this.shipped[0]!);
  }

  /** Drafts stay where they are. */
  async openShipped({ name, document }: ShippedNotebook): Promise<void> {
    await this.flush();
    this.#show(document, 'home', null);
    showInAddress(`#${name}`);
  }

  async openDocument(document: NotebookDocument): Promise<void> {
    await this.flush();
    this.#show(document, 'link', null);
  }

  /** Keeps the notebook that came with a link. */
  async saveCopy(): Promise<void> {
    this.origin = 'draft';
    await this.#save();
    showInAddress(null);
    this.#changed();
  }

  async delete(id: string): Promise<void> {
    clearTimeout(this.#timer);
    await this.#shelf?.delete(id);
    this.notebooks = (await this.#shelf?.list()) ?? [];
    if (id === this.#id) this.#show(this.#services.home, 'home', null);
    this.#changed();
  }

  dismissError(): void {
    this.error = null;
    this.#changed();
  }

  /** Writes a pending change now. */
  async flush(): Promise<void> {
    if (this.#timer === undefined) return;
    await this.#save();
  }

  #show(document: NotebookDocument, origin: Origin, id: string | null): void {
    this.model.removeEventListener('change', this.#onChange);
    this.model = new NotebookModel(document);
    this.model.addEventListener('change', this.#onChange);
    this.origin = origin;
    this.#id = id;
    this.error = null;
    this.savedAt = null;
    this.#changed();
  }

  #touched(): void {
    if (this.origin !== 'link') {
      // The address named the notebook as it was.
      if (this.origin === 'home') showInAddress(null);
      this.origin = 'draft';
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#save(), AUTOSAVE_MS);
    }
    this.#changed();
  }

  async #save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#shelf) return;
    this.#id ??= crypto.randomUUID();
    const id = this.#id;
    try {
      await this.#shelf.save(id, this.model.document);
      this.savedAt = new Date();
      this.notebooks = await this.#shelf.list();
    } catch (thrown) {
      this.error = errorParts(thrown);
    }
    this.#changed();
  }

  #changed(): void {
    this.dispatchEvent(new Event('change'));
  }
}
