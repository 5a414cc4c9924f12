/** The name of a build: version and commit, with `-changed` where the sources differ from the commit. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {string[]} words @returns {string} */
function git(...words) {
  return execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/** @returns {string} e.g. `0.1.0+1a2b3c4d5e`; the version alone outside a git checkout */
export function buildName() {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'shaders', 'package-lock.json') !== '';
    return `${version}+${git('rev-parse', '--short=10', 'HEAD')}${changed ? '-changed' : ''}`;
  } catch {
    return version;
  }
}
