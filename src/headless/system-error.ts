/** Node's errors about files as LabErrors. */
import { readFile } from 'node:fs/promises';
import { LabError } from '../core/errors';

/** What is at the path, and how to mend it, by Node's error code. */
const meanings: Readonly<Record<string, readonly [got: string, fix: string]>> = {
  ENOENT: ['nothing at that path', 'Check the spelling, or choose a path that can exist.'],
  EISDIR: ['a folder', 'Name a file.'],
  ENOTDIR: ['a file on the way', 'Name a path all of whose parents are folders.'],
  EEXIST: ['a file', 'Choose a path where no file is.'],
  EACCES: ['no permission', 'Change the permissions, or choose another path.'],
  EPERM: ['no permission', 'Change the permissions, or choose another path.'],
  EROFS: ['a read-only file system', 'Choose a path on another file system.'],
  ENOSPC: ['a full disk', 'Make room on the disk, then run the command again (lab run: with --resume).'],
  EDQUOT: ['a used-up disk quota', 'Make room on the disk, then run the command again (lab run: with --resume).'],
  ENAMETOOLONG: ['a name that is too long', 'Choose a shorter path.'],
  ELOOP: ['links that go in a circle', 'Choose another path.'],
  EMFILE: ['too many open files', 'Close other programs or raise the limit (ulimit -n).'],
  ERR_FS_FILE_TOO_LARGE: ['a file above 2 GiB', 'Name another file.'],
  ERR_INVALID_ARG_VALUE: ['a path with a zero byte', 'Choose another path.'],
};

/** Whether Node threw this because of a file. */
export function isSystemError(thrown: unknown): thrown is NodeJS.ErrnoException {
  return (
    thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' && !(thrown instanceof LabError)
  );
}

/**
 * @param what what could not be done, one sentence
 * @param expected what should have been at `path`
 * @returns a LabError `file.<code in lower case>`; anything that is no system error comes back as it is
 */
export function fileError(thrown: unknown, what: string, path: string, expected: string): unknown {
  if (!isSystemError(thrown)) return thrown;
  const code = thrown.code ?? '';
  const [got, fix] = meanings[code] ?? [thrown.message, 'Choose another path.'];
  return new LabError(
    { code: `file.${code.toLowerCase()}`, what, where: shown(path), expected, got: `${got} (${code})`, fix },
    { cause: thrown },
  );
}

/** A path as messages show it. */
export function shown(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path || '""';
}

/** Awaits file work on `path`; Node's errors come out as LabErrors. @throws LabError file.… */
export async function onFile<T>(what: string, path: string, expected: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw fileError(thrown, what, path, expected);
  }
}

/** A file's bytes. @param what the file in words, e.g. `checkpoint` @throws LabError file.… */
export function readBytes(what: string, path: string): Promise<Buffer> {
  return onFile(`The ${what} cannot be read`, path, 'a readable file', () => readFile(path));
}

/** A file's text, without a byte-order mark. @throws LabError file.… */
export async function readText(what: string, path: string): Promise<string> {
  return (await readBytes(what, path)).toString('utf8').replace(/^\uFEFF/, '');
}
