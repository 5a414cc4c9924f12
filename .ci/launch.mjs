/**
 * `node .ci/launch.mjs <lab|bench> …`: builds the command line where the sources are newer than the last build, and runs
 * it in this process. Nothing but the command itself writes to stdout.
 *
 * A build is named after the state of the sources and lives in its own folder `dist-node/<key>/`: two commands may
 * start at once (the rename is atomic), and a long run keeps its files while others edit and rebuild.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const builds = join(root, 'dist-node');

/** Everything a headless build depends on. */
const inputs = ['src', 'shaders', 'package-lock.json', 'tsconfig.json', 'vite.headless.config.ts'];

/**
 * A short name of the state of the sources: paths, sizes and modification times.
 * @returns {string}
 */
export function sourceKey() {
  const hash = createHash('sha256');
  /** @param {string} path */
  const add = (path) => {
    const stat = statSync(join(root, path), { throwIfNoEntry: false });
    if (!stat) return;
    if (stat.isDirectory()) for (const name of readdirSync(join(root, path)).sort()) add(`${path}/${name}`);
    else hash.update(`${path}\0${stat.size}\0${stat.mtimeMs}\n`);
  };
  for (const input of inputs) add(input);
  return hash.digest('hex').slice(0, 12);
}

/**
 * Builds the present state of the sources unless that was done before.
 * @returns {Promise<string>} the folder with lab.js, bench.js and the workers
 */
export async function headlessBuild() {
  const folder = join(builds, sourceKey());
  if (existsSync(folder)) return folder;
  process.stderr.write('building the command line …\n');
  const started = Date.now();
  const temporary = join(builds, `building-${process.pid}`);
  const { build, createLogger } = await import('vite');
  const logger = createLogger('warn');
  logger.warn = logger.warnOnce = (text) => void process.stderr.write(`${text}\n`);
  logger.error = (text) => void process.stderr.write(`${text}\n`);
  try {
    await build({
      root,
      configFile: join(root, 'vite.headless.config.ts'),
      logLevel: 'warn', // the build reporter writes to stdout, past any logger
      customLogger: logger,
      build: { outDir: temporary, reportCompressedSize: false },
    });
    renameSync(temporary, folder);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  prune(folder);
  process.stderr.write(`built in ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
  return folder;
}

/**
 * Marks a build as used by this process and removes builds that nothing uses any more.
 * @param {string} keep
 */
function prune(keep) {
  const graceMs = 10 * 60_000;
  for (const name of readdirSync(builds)) {
    const folder = join(builds, name);
    const stat = statSync(folder, { throwIfNoEntry: false });
    if (!stat || folder === keep || Date.now() - stat.mtimeMs < graceMs || users(folder).some(isAlive)) continue;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder */
function users(folder) {
  const list = join(folder, 'users');
  return existsSync(list) ? readdirSync(list).map(Number) : [];
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/** @param {string | undefined} entry */
async function launch(entry) {
  const folder = await headlessBuild();
  const file = join(folder, `${entry}.js`);
  if (!existsSync(file)) {
    process.stderr.write(`error: There is no headless program "${entry}": expected one of lab, bench.\n`);
    process.exit(2);
  }
  mkdirSync(join(folder, 'users'), { recursive: true });
  const mark = join(folder, 'users', String(process.pid));
  writeFileSync(mark, '');
  process.on('exit', () => rmSync(mark, { force: true }));
  process.argv.splice(1, 2, file);
  await import(pathToFileURL(file).href);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  launch(process.argv[2]).catch((error) => {
    process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`);
    process.exit(1);
  });
}
