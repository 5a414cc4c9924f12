/** What the page needs from the floors below, so that it can be mounted with other implementations in tests. */
import type { PartialConfig } from '../core/config/config';
import type { LabErrorParts } from '../core/errors';
import type { TrainerApi } from '../core/protocol/protocol';
import type { NotebookDocument } from '../notebook/document';

export interface PresetInfo {
  readonly title: string;
  readonly shows: string;
  readonly config: PartialConfig;
}

/** A notebook kept in this browser. */
export interface SavedNotebook {
  readonly id: string;
  readonly title: string;
  readonly updatedAt: string;
}

/** Where notebooks are kept. The first one the page opens is the one saved last. */
export interface NotebookShelf {
  list(): Promise<readonly SavedNotebook[]>;
  /** @returns null when there is no such notebook */
  load(id: string): Promise<NotebookDocument | null>;
  save(id: string, document: NotebookDocument): Promise<void>;
  delete(id: string): Promise<void>;
  /** False when nothing outlives the tab (private mode). */
  readonly persistent: boolean;
}

/** A notebook that the page comes with. */
export interface ShippedNotebook {
  /** Kebab case; `#<name>` is its address. */
  readonly name: string;
  readonly document: NotebookDocument;
  /** What it is, in half a sentence. */
  readonly about: string;
}

export interface LabServices {
  readonly presets: Readonly<Record<string, PresetInfo>>;
  readonly home: NotebookDocument;
  /** What else the page comes with, in the order it is offered. */
  readonly shipped: readonly ShippedNotebook[];
  /** Starts the trainer; called once, when it is first needed. */
  createTrainer(): TrainerApi;
  /** Text of a results file of the site, by name without its ending. @throws LabError results.missing, results.unreachable */
  fetchResults(name: string): Promise<string>;
  /** Text of a file of public/episodes, by name with its ending. @throws LabError episodes.missing, episodes.unreachable */
  fetchEpisodes(file: string): Promise<string>;
  /** @param onNotice told what the visitor should know about the storage */
  openShelf(onNotice: (notice: LabErrorParts) => void): Promise<NotebookShelf>;
}
