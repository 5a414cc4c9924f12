/**
 * `node .ci/setup.mjs [test]`: what must be there before anything else can run. Needs nothing but Node, prints nothing
 * when nothing is to be done, and never writes to stdout (the command line's stdout is JSON).
 *
 * Always: the dependencies of package-lock.json. For `test` also: Chromium, Firefox, and a Vulkan driver for Dawn.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findChromium } from './chromium.mjs';
import { findFirefox } from './firefox.mjs';
import { findVulkan } from './vulkan.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (/** @type {string[]} */ ...parts) => join(root, ...parts);
const say = (/** @type {string} */ text) => void process.stderr.write(`setup: ${text}\n`);

/** An error whose message is all the user needs. */
class SetupError extends Error {}

/**
 * Runs a program with its output on stderr.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {boolean} whether it succeeded
 */
function run(command, args, env = {}) {
  say(`${command} ${args.join(' ')}`);
  const shell = process.platform === 'win32' && command === 'npm';
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, ...env },
    shell,
  });
  return result.status === 0;
}

function checkNode() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 20) throw new SetupError(`Node is too old: expected 20 or newer, got ${process.version}. Update Node.`);
}

/** Hash of the lock file the present node_modules was installed from. */
const stamp = () => at('node_modules', '.installed-lock-hash');

function dependenciesAreFresh() {
  const installed = statSync(at('node_modules', '.package-lock.json'), { throwIfNoEntry: false });
  if (!installed) return false;
  const hash = lockHash();
  if (existsSync(stamp()) && readFileSync(stamp(), 'utf8') === hash) return true;
  // Also fresh: someone ran npm by hand after the lock file changed.
  if (installed.mtimeMs < statSync(at('package-lock.json')).mtimeMs) return false;
  writeFileSync(stamp(), hash);
  return true;
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(at('package-lock.json')))
    .digest('hex');
}

function ensureDependencies() {
  if (dependenciesAreFresh()) return;
  withLock(() => {
    if (dependenciesAreFresh()) return; // another command installed them while this one waited
    say('installing dependencies (about half a minute) …');
    const args = ['ci', '--include=dev', '--no-audit', '--no-fund'];
    const npm = process.env.npm_execpath;
    const done = npm?.endsWith('.js') ? run(process.execPath, [npm, ...args]) : run('npm', args);
    if (!done) {
      throw new SetupError('Installing dependencies failed. Check the network and the messages above, then: npm ci');
    }
    writeFileSync(stamp(), lockHash());
  });
}

/**
 * Runs `work` while no other setup of this folder does.
 * @param {() => void} work
 */
function withLock(work) {
  mkdirSync(at('.cache'), { recursive: true });
  const lock = at('.cache', 'setup.lock');
  for (let waited = 0; ; waited++) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
      if (waited === 0) say('waiting for another setup to finish …');
      if (!isAlive(lock)) unlinkIfThere(lock);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    }
  }
  try {
    work();
  } finally {
    unlinkIfThere(lock);
  }
}

/** @param {string} lock */
function isAlive(lock) {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    if (pid > 0) process.kill(pid, 0);
    return true; // an empty file: its owner is about to write
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/** @param {string} path */
function unlinkIfThere(path) {
  try {
    unlinkSync(path);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
  }
}

/**
 * Whether packages can be installed here: Debian or a relative, as root.
 * @returns {{ codename: string } | undefined}
 */
function aptSystem() {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return undefined;
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return { codename: /^VERSION_CODENAME=(\w+)/m.exec(release)?.[1] ?? '' };
}

let listsAreFresh = false;

function refreshLists() {
  if (!listsAreFresh) listsAreFresh = run('apt-get', ['update', '-q'], { DEBIAN_FRONTEND: 'noninteractive' });
}

/**
 * @param {string[]} args packages, with options
 * @returns {boolean} whether they were installed
 */
function aptInstall(...args) {
  refreshLists();
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  return run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...args], env);
}

function ensureChromium() {
  if (findChromium()) return;
  say('Chromium is missing; the tests need it');
  if (aptSystem()) aptInstall('chromium');
  if (!findChromium()) run(process.execPath, [at('node_modules', 'playwright-core', 'cli.js'), 'install', 'chromium']);
  if (!findChromium()) {
    throw new SetupError('No Chromium was found. Install Chromium or Chrome, or set CHROMIUM_PATH to its executable.');
  }
}

function ensureFirefox() {
  if (findFirefox()) return;
  say('Firefox is missing; the tests need it');
  if (aptSystem()) aptInstall('firefox-esr');
  if (!findFirefox()) {
    throw new SetupError('No Firefox was found. Install Firefox (ESR will do), or set FIREFOX_PATH to its executable.');
  }
}

function ensureVulkan() {
  if (findVulkan()) return;
  say('Dawn (WebGPU in Node) has no adapter; the tests need one');
  const system = aptSystem();
  if (system && !process.env.VK_DRIVER_FILES) {
    // Dawn refuses Mesa 22, the newest in plain Debian 12.
    const backports = system.codename === 'bookworm' ? addBackports() : [];
    aptInstall('libvulkan1');
    aptInstall(...backports, 'mesa-vulkan-drivers');
  }
  if (!findVulkan()) {
    throw new SetupError(
      'Dawn found no graphics adapter. On Linux install libvulkan1 and mesa-vulkan-drivers 25 or newer (Debian 12: ' +
        'from bookworm-backports), or set VK_DRIVER_FILES to a Vulkan driver file, for example the ' +
        'vk_swiftshader_icd.json that comes with Chromium.',
    );
  }
}

/** The mirror that this machine already gets Debian 12 from. @returns {string | undefined} */
function debianMirror() {
  refreshLists(); // apt names the mirror of what it has the lists of
  const format = ['indextargets', '--format', '$(REPO_URI)', 'Codename: bookworm'];
  return (spawnSync('apt-get', format, { encoding: 'utf8' }).stdout ?? '').split('\n').find(Boolean);
}

/** Debian 12's newer Mesa lives in backports. */
function addBackports() {
  const source = '/etc/apt/sources.list.d/compaction-lab-backports.list';
  const known = spawnSync('apt-cache', ['policy'], { encoding: 'utf8' }).stdout ?? '';
  if (!known.includes('bookworm-backports') && !existsSync(source)) {
    const mirror = debianMirror();
    if (mirror === undefined) return []; // Debian's own, older driver; the check afterwards says whether it will do
    say(`adding ${source}`);
    writeFileSync(source, `deb ${mirror} bookworm-backports main\n`);
    listsAreFresh = false;
  }
  return ['-t', 'bookworm-backports'];
}

/** @param {string | undefined} purpose */
export function setup(purpose) {
  checkNode();
  ensureDependencies();
  if (purpose !== 'test') return;
  ensureChromium(); // first: its SwiftShader can serve Dawn too
  ensureFirefox();
  ensureVulkan();
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    setup(process.argv[2]);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    process.exit(1);
  }
}
