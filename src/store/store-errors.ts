/** What can go wrong with the browser's storage, in the words of LabError. */
import { LabError, type LabErrorParts } from '../core/errors';

/** Name of an error, also of a DOMException from another realm. */
export function errorName(error: unknown): string {
  return typeof error === 'object' && error !== null && 'name' in error ? String(error.name) : '';
}

/** `1.4 MB` */
export function formatBytes(bytes: number): string {
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

/** What the browser says about room; nulls where it says nothing. */
export interface Usage {
  readonly usageBytes: number | null;
  readonly quotaBytes: number | null;
  /** Whether the browser has promised not to clear the data by itself. */
  readonly persisted: boolean;
}

/** Asks the browser how much room there is. Never fails. */
export async function storageUsage(): Promise<Usage> {
  try {
    const { usage = null, quota = null } = await navigator.storage.estimate();
    return { usageBytes: usage, quotaBytes: quota, persisted: (await navigator.storage.persisted?.()) ?? false };
  } catch {
    return { usageBytes: null, quotaBytes: null, persisted: false };
  }
}

/**
 * Storage is full: nothing was written and nothing removed.
 * @param neededBytes size of what was to be saved, about; null when unknown
 * @param quotaBytes only where it is a real limit: browsers have begun to report a made-up quota to pages
 */
export function quotaError(
  room: { neededBytes: number | null; usageBytes: number | null; quotaBytes?: number },
  cause?: unknown,
): LabError {
  const { neededBytes, usageBytes, quotaBytes } = room;
  const used = usageBytes === null ? 'a refusal by the browser' : `${formatBytes(usageBytes)} in use`;
  return new LabError(
    {
      code: 'store.quota',
      what: 'There is no room left to save this; everything saved before is untouched',
      where: 'browser storage',
      expected: neededBytes === null ? 'free space' : `room for ${formatBytes(neededBytes)} more`,
      got: quotaBytes === undefined ? used : `${used} of ${formatBytes(quotaBytes)} allowed`,
      fix: 'Export and delete old runs (My runs) or free disk space, then resume.',
    },
    { cause },
  );
}

/** A transaction was undone for a reason other than quota. Nothing of it was written. */
export function abortedError(cause: unknown): LabError {
  return new LabError(
    {
      code: 'store.aborted',
      what: 'The browser undid a write to its storage; everything saved before is untouched',
      where: 'browser storage',
      got: cause instanceof Error ? `${cause.name}: ${cause.message}`.slice(0, 200) : 'no reason given',
      fix: 'Resume the run from its last saved iteration; if it happens again, reload the page.',
    },
    { cause },
  );
}

export const blockedError: LabErrorParts = {
  code: 'store.blocked',
  what: 'Another tab with an older version of this page keeps the storage from being updated',
  where: 'browser storage',
  fix: 'Close all other tabs of this page, then reload.',
};

export const outdatedError: LabErrorParts = {
  code: 'store.outdated',
  what: 'A newer version of this page was opened in another tab and has updated the storage',
  where: 'browser storage',
  fix: 'Reload this tab; runs continue from their last saved iteration.',
};

export const closedError: LabErrorParts = {
  code: 'store.closed',
  what: 'The storage was closed',
  where: 'browser storage',
  fix: 'Reload the page.',
};
