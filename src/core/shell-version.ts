/** Versions of the terminal's behaviour. A run keeps the one it began with, so that it stays the same to the bit. */
import { LabError } from './errors';

/**
 * 1: errors flow into the pipe or the substitution in which they arise, and `sh` shows them last; also of
 *    runs that say nothing.
 * 2: errors reach the terminal, as in bash after `exec 2>&1`.
 */
export const shellVersions = [1, 2] as const;
export type ShellVersion = (typeof shellVersions)[number];

/** What new runs use. */
export const currentShell: ShellVersion = 2;

/** The version that a run or a result records; nothing is 1. @throws `shell.bad-version` */
export function parseShellVersion(raw: unknown, where: string): ShellVersion {
  const version = shellVersions.find((known) => known === (raw === undefined ? 1 : raw));
  if (version) return version;
  throw new LabError({
    code: 'shell.bad-version',
    what: 'This version of the terminal is not known',
    where,
    expected: shellVersions.join(' or '),
    got: (JSON.stringify(raw) ?? String(raw)).slice(0, 120),
    fix: 'Use a newer version of this program, or restore the file.',
  });
}
