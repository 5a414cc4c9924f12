/** The name of a build: version and commit, with `-changed` where the sources differ from the commit. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** What decides how fast a kernel is, and how that is measured. */
const kernelSources = ['shaders', 'src/gpu', 'src/model/webgpu'];

/** @returns {string} twelve hex digits that change with the content of the kernels' sources */
export function kernelVersion() {
  const hash = createHash('sha256');
  for (const folder of kernelSources)
    for (const file of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      .sort()) {
      hash.update(file.slice(root.length)).update('\0');
      hash.update(readFileSync(file)).update('\0');
    }
  return hash.digest('hex').slice(0, 12);
}
