/** Programs on this machine: the first of some places that can be run. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {readonly (string | undefined)[]} named paths from the environment, which come first
 * @param {readonly string[]} names looked for on PATH
 * @param {readonly string[]} places paths that come last
 * @returns {string | undefined}
 */
export function findExecutable(named, names, places) {
  const onPath = (process.env.PATH ?? '').split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  return [...named.flatMap((path) => (path ? [path] : [])), ...onPath, ...places].find(isExecutable);
}

/**
 * Where Windows keeps programs.
 * @param {string} path inside such a folder
 */
export const windowsPlaces = (path) =>
  ['PROGRAMFILES', 'PROGRAMFILES(X86)', 'LOCALAPPDATA'].flatMap((variable) => {
    const folder = process.env[variable];
    return folder ? [join(folder, path)] : [];
  });
