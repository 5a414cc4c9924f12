/** Claims: two processes must not compute the same cell, write the same run, or change the same file at the same time. */
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import * as v from 'valibot';
import { onFile } from '../system-error';

const claimSchema = v.object({ pid: v.pipe(v.number(), v.safeInteger(), v.minValue(1)), host: v.string() });

/** Whether a process of this machine lives. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // it lives, and belongs to someone else
  }
}

/** A claim is written right after its file is made: one that cannot be read for this long, ms, was never finished. */
const UNREADABLE_MS = 10_000;

/** Claims that this process holds or is about to take: its own number in any other file is that of a dead process. */
const mine = new Set<string>();

/**
 * Whether nobody holds the claim any more. A process of another machine cannot be asked, so it counts as alive.
 * @param ours whether a claim with this process's number is one that it holds
 */
async function isStale(path: string, ours: boolean): Promise<boolean> {
  try {
    const { pid, host } = v.parse(claimSchema, JSON.parse(await readFile(path, 'utf8')));
    return host === hostname() && (pid === process.pid ? !ours : !isAlive(pid));
  } catch {
    const madeAt = await stat(path).catch(() => null);
    return madeAt !== null && Date.now() - madeAt.mtimeMs > UNREADABLE_MS;
  }
}

/**
 * Takes the claim `path`, also from a process of this machine that has died.
 * @returns how to give it back; null when another process holds it
 * @throws LabError file.… when no file can be made there
 */
export async function takeClaim(path: string): Promise<(() => Promise<void>) | null> {
  const key = resolve(path);
  if (mine.has(key)) return null;
  mine.add(key);
  let taken = false;
  try {
    taken = await write(path);
  } finally {
    if (!taken) mine.delete(key);
  }
  if (!taken) return null;
  return async () => {
    await rm(path, { force: true });
    mine.delete(key);
  };
}

/** Makes the file of a claim that this process does not hold. @returns false when another process holds it */
async function write(path: string): Promise<boolean> {
  const claim: v.InferOutput<typeof claimSchema> = { pid: process.pid, host: hostname() };
  // Two attempts: the second after a stale claim is out of the way.
  for (let attempt = 0; attempt < 2; attempt++) {
    const made = await onFile(
      'The claim on what is to be written cannot be made',
      path,
      'a file that can be made',
      () =>
        writeFile(path, JSON.stringify(claim), { flag: 'wx' }).then(
          () => true,
          (error: NodeJS.ErrnoException) => {
            if (error.code === 'EEXIST') return false;
            throw error;
          },
        ),
    );
    if (made) return true;
    if (!(await isStale(path, false))) return false;
    await removeStale(path);
  }
  return false;
}

/** Removes a claim that nobody holds any more; one that is held stays. */
export async function dropStaleClaim(path: string): Promise<void> {
  if (await isStale(path, mine.has(resolve(path)))) await removeStale(path);
}

/**
 * Moves a stale claim away before removing it: of two processes that find it, one may meanwhile have put its own there,
 * which then goes back. (Were it still lost, a cell would be computed twice, with the same result.)
 */
async function removeStale(path: string): Promise<void> {
  const aside = `${path}-stale-${process.pid}`;
  try {
    await rename(path, aside);
  } catch {
    return; // the other process was faster
  }
  if (await isStale(aside, false)) await rm(aside, { force: true });
  else await rename(aside, path);
}
