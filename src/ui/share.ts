/** The only reader and writer of the address. A notebook travels in the fragment: no server ever sees it. */
import { decodeDocument, encodeDocument, isDocumentFragment } from '../notebook/codec';
import type { NotebookDocument } from '../notebook/document';
import { limits } from '../notebook/limits';

/** Safari throws after 100 replaceState calls in 30 s; one per this many ms is far below. */
const DEBOUNCE_MS = 600;
let timer: ReturnType<typeof setTimeout> | undefined;

export interface ShareLink {
  readonly url: string;
  readonly sizeBytes: number;
  /** Longer than every chat program and mail client is known to keep whole. */
  readonly long: boolean;
}

/** @throws LabError notebook.invalid, link.too-large */
export async function makeLink(document: NotebookDocument): Promise<ShareLink> {
  const url = new URL(location.href);
  url.hash = await encodeDocument(document);
  const text = url.href;
  return { url: text, sizeBytes: text.length, long: text.length > limits.comfortableLinkChars };
}

/**
 * The notebook the address carries; null when it carries none.
 * @throws LabError link.*
 */
export async function readLink(): Promise<NotebookDocument | null> {
  return isDocumentFragment(location.hash) ? decodeDocument(location.hash) : null;
}

/** The name that the address gives of a notebook of the page (`#what-reproduces`); null when it gives none. */
export function nameInAddress(): string | null {
  return /^#([a-z]+(?:-[a-z]+)*)$/.exec(location.hash)?.[1] ?? null;
}

/** Whether the address names nothing at all. */
export function addressIsBare(): boolean {
  return location.hash.length <= 1;
}

/** Shows a link or a fragment in the address bar without adding to the history. */
export function showInAddress(url: string | null): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const bare = `${location.pathname}${location.search}`;
    history.replaceState(null, '', url === null ? bare : new URL(url, location.href).hash);
  }, DEBOUNCE_MS);
}

/** Calls back when a visitor pastes another link into the address bar of the open page. */
export function onAddressChange(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}

const RELOADED = 'lab.reloaded-for';

/**
 * After a new version was put on the server, an open page may ask for files that are gone: reload once, and only once.
 * @returns whether a reload was started
 */
export function reloadOnce(reason: string): boolean {
  try {
    if (sessionStorage.getItem(RELOADED) === reason) return false;
    sessionStorage.setItem(RELOADED, reason);
  } catch {
    return false; // without memory a reload could loop
  }
  location.reload();
  return true;
}
