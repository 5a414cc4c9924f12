/** Checks of where a command will write, before it works for minutes or hours. */
import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { LabError } from '../core/errors';
import { onFile, shown } from './system-error';

const CANNOT_WRITE = 'The output cannot be written';
const FOLDER = 'a folder, or a path where one can be made';
const FILE = 'a file that can be written';

/**
 * Makes a folder and those above it. One by one: Node's own recursive mkdir never returns where a folder cannot be made
 * although its parent exists, as under /proc.
 * @throws LabError file.…
 */
export async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  let at = resolve(path);
  while (!(await found(at)) && dirname(at) !== at) {
    missing.unshift(at);
    at = dirname(at);
  }
  if (!(await found(at))?.isDirectory()) throw unfit('The output folder cannot be made', path, FOLDER, 'a file');
  for (const folder of missing)
    await onFile('The output folder cannot be made', path, FOLDER, () =>
      mkdir(folder).catch(async (error) => {
        // Another process made it meanwhile.
        if (!(await found(folder))?.isDirectory()) throw error;
      }),
    );
}

/** What is at a path; null when nothing is, or when it cannot be seen. */
function found(path: string): Promise<Stats | null> {
  return stat(path).catch(() => null);
}

function unfit(what: string, path: string, expected: string, got: string): LabError {
  const fix = got === 'a folder' ? 'Name a file.' : 'Choose another path.';
  return new LabError({ code: 'file.unfit', what, where: shown(path), expected, got, fix });
}

/** Makes sure that files can be made in `folder`, which is made where it is missing. @throws LabError file.… */
export async function requireWritableFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  const probe = resolve(folder, `.write-test-${randomUUID()}`);
  await onFile(CANNOT_WRITE, folder, 'a folder in which files can be made', () => touch(probe));
}

/**
 * Makes sure that `path` can be written; the folders above it are made. What the file holds is left alone.
 * @throws LabError file.…
 */
export async function requireWritableFile(path: string): Promise<void> {
  await makeFolder(dirname(path));
  const there = await found(path);
  if (there?.isDirectory()) throw unfit(CANNOT_WRITE, path, FILE, 'a folder');
  if (there && !there.isFile()) return; // a terminal or a pipe: opening it may wait for the other end
  await onFile(CANNOT_WRITE, path, FILE, () => touch(path));
}

/** Makes sure that `writeAtomically` can write `path`; the folders above it are made. @throws LabError file.… */
export async function requireReplaceableFile(path: string): Promise<void> {
  await requireWritableFolder(dirname(path));
  const there = await found(path);
  if (there?.isDirectory()) throw unfit(CANNOT_WRITE, path, FILE, 'a folder');
  if (there && !there.isFile()) throw unfit(CANNOT_WRITE, path, FILE, 'a device or a pipe');
  await onFile(CANNOT_WRITE, path, FILE, () => touch(path));
}

/**
 * Opens a file for writing without changing what it holds. Where there is none, one of a name nobody else has is made beside
 * it and removed: under its own name it might meanwhile be the file of another process.
 */
async function touch(path: string): Promise<void> {
  if (await found(path)) return (await open(path, 'a')).close();
  const probe = besides(path);
  await (await open(probe, 'wx')).close();
  await rm(probe);
}

/**
 * A name that no other write has, in this process, another one, or on another machine with the same disk. It ends with the
 * number of the process, by which leftovers of a dead one are told.
 */
function besides(path: string): string {
  return `${path}.${randomUUID().slice(0, 8)}.${process.pid}.partial`;
}

/**
 * Writes the bytes next to the target, flushes them, and renames: a reader sees the old file or the new one, and a
 * failure leaves neither half a file nor the other name behind.
 * @throws LabError file.…
 */
export async function writeAtomically(path: string, content: string | Uint8Array): Promise<void> {
  const partial = besides(path);
  await onFile(CANNOT_WRITE, path, FILE, async () => {
    try {
      const handle = await open(partial, 'wx');
      try {
        await handle.writeFile(content);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(partial, path);
    } catch (thrown) {
      await rm(partial, { force: true }).catch(() => {});
      throw thrown;
    }
  });
}

/** As `writeAtomically`; into what is no regular file, a terminal or a pipe, it is written as it stands. @throws LabError file.… */
export async function writeWhole(path: string, content: string): Promise<void> {
  const there = await found(path);
  if (!there || there.isFile()) return writeAtomically(path, content);
  await onFile(CANNOT_WRITE, path, FILE, () => writeFile(path, content));
}
