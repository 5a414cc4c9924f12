/**
 * `npm test [-- --only lint,types,unit,gpu,browser,build,e2e,firefox]`: every check, each in a process of its own; all run even if
 * one fails. Ends with a table of steps and counts and with the adapters that the tests ran on.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findChromium } from './chromium.mjs';
import { firefoxAdapter } from './firefox.mjs';
import { findVulkan } from './vulkan.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (/** @type {string} */ path) => join(root, 'node_modules', path);
const { values } = parseArgs({ options: { only: { type: 'string' } } });

const vulkan = findVulkan();
const chromium = findChromium();

/**
 * @typedef {{ name: string, words: string[], counts?: boolean }} Step one Node process; `counts`: it writes a vitest report
 * @typedef {{ ok: boolean, detail: string, seconds: number }} Outcome
 */

/** @param {string} project @returns {Step} */
const vitest = (project) => ({
  name: project,
  words: [bin('vitest/vitest.mjs'), 'run', '--project', project, '--reporter=default', '--reporter=json'],
  counts: true,
});

/** @type {Step[]} */
const steps = [
  { name: 'lint', words: [bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings'] },
  { name: 'types', words: [bin('typescript/bin/tsc'), '-p', '.'] },
  vitest('unit'),
  vitest('gpu'),
  vitest('browser'),
  { name: 'build', words: [bin('vite/bin/vite.js'), 'build'] },
  vitest('e2e'),
  vitest('firefox'),
];

/** @param {Step} step @returns {Outcome} */
function perform(step) {
  console.log(`\n── ${step.name} ${'─'.repeat(70 - step.name.length)}`);
  const report = join(root, '.cache', `vitest-${step.name}.json`);
  rmSync(report, { force: true });
  const started = Date.now();
  const words = step.counts ? [...step.words, `--outputFile.json=${report}`] : step.words;
  const env = { ...process.env, ...vulkan?.env };
  // A caller's NODE_ENV would turn the production build into another one.
  if (step.name === 'build') env.NODE_ENV = 'production';
  const { status, signal } = spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit', env });
  const seconds = (Date.now() - started) / 1000;
  const verdict = status === 0 ? 'ok' : `exit ${signal ?? status}`;
  if (!step.counts) return { ok: status === 0, detail: verdict, seconds };
  const counts = readCounts(report);
  // A run without a single passed test proves nothing, whatever its exit code.
  return { ok: status === 0 && counts.passed > 0, detail: `${counts.text}, ${verdict}`, seconds };
}

/** @param {string} report */
function readCounts(report) {
  if (!existsSync(report)) return { passed: 0, text: 'no report' };
  const {
    numPassedTests: passed,
    numFailedTests: failed,
    numPendingTests: skipped,
  } = JSON.parse(readFileSync(report, 'utf8'));
  return { passed, text: `${passed} passed, ${failed} failed, ${skipped} skipped` };
}

/** The adapter that Chromium's pages get. @returns {Promise<string | undefined>} */
async function chromiumAdapter() {
  const { chromiumFlags } = await import('./chromium.mjs');
  const playwright = await import('playwright-core');
  const browser = await playwright.chromium.launch({ executablePath: chromium, args: chromiumFlags() });
  try {
    const page = await browser.newPage();
    await page.goto(`file://${join(root, 'LICENSE')}`); // WebGPU wants a trustworthy origin
    const info = await page.evaluate(async () => {
      const adapter = await navigator.gpu?.requestAdapter();
      return adapter && [adapter.info.vendor, adapter.info.architecture, adapter.info.description].join(' ').trim();
    });
    return info ? `${info} (Chromium ${browser.version()})` : undefined;
  } finally {
    await browser.close();
  }
}

// Firefox, unlike Chromium with its own SwiftShader, finds the driver that Dawn uses, through the environment.
Object.assign(process.env, vulkan?.env);
mkdirSync(join(root, '.cache'), { recursive: true });
const only = values.only?.split(',');
const unknown = only?.filter((name) => !steps.some((step) => step.name === name)) ?? [];
if (unknown.length > 0) {
  console.error(`error: Unknown step ${unknown[0]}: expected ${steps.map((step) => step.name).join(' | ')}.`);
  process.exit(2);
}

const adapters = [
  { name: 'Dawn (Node)', adapter: vulkan?.adapter },
  { name: 'Chromium', adapter: await chromiumAdapter().catch((error) => void console.error(String(error))) },
  {
    name: 'Firefox',
    adapter: await firefoxAdapter(join(root, 'LICENSE')).catch((error) => void console.error(String(error))),
  },
];
for (const { name, adapter } of adapters) console.log(`adapter of ${name}: ${adapter ?? 'NONE'}`);

const outcomes = steps
  .filter((step) => only?.includes(step.name) ?? true)
  .map((step) => ({ name: step.name, ...perform(step) }));

console.log('\n── summary ────────────────────────────────────────────────────────────');
for (const { name, ok, detail, seconds } of outcomes) {
  console.log(`${ok ? 'pass' : 'FAIL'}  ${name.padEnd(8)} ${seconds.toFixed(1).padStart(6)} s  ${detail}`);
}
for (const { name, adapter } of adapters)
  console.log(`${adapter ? 'pass' : 'FAIL'}  adapter  ${name}: ${adapter ?? 'NONE'}`);
process.exit(outcomes.every(({ ok }) => ok) && adapters.every(({ adapter }) => adapter) ? 0 : 1);
