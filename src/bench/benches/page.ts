/**
 * How long the page's main thread is busy at a stretch while the notebook is drawn and used: `npm run build`, then
 * `npm run --silent bench -- page`. Tasks above 50 ms are felt. What is measured is processor time, so that waiting for a
 * core does not count; a crowded machine is also a slow one, so compare on a quiet one.
 */
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { preview } from 'vite';
import { LabError } from '../../core/errors';
import type { Bench } from '../bench';

/** Software WebGPU, so that the page finds an adapter on any machine; no sandbox, which containers do not allow to root. */
const FLAGS = ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'];

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time, microseconds. */
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

interface PageTasks {
  /** Tasks of the main thread in the traced stretch. */
  readonly tasks: number;
  /** The five longest, ms of processor time, longest first. */
  readonly longestMs: readonly number[];
  readonly chromium: string;
}

/** Reloads the built page in Chromium, opens all parameters, and traces the main thread meanwhile. */
async function measurePageTasks(): Promise<PageTasks> {
  const { CHROMIUM_PATH, CHROME_BIN } = process.env;
  const executablePath = CHROMIUM_PATH ?? CHROME_BIN ?? '/usr/bin/chromium';
  if (!existsSync(executablePath))
    throw new LabError({
      code: 'bench.no-chromium',
      what: 'No Chromium',
      where: executablePath,
      fix: 'Set CHROMIUM_PATH.',
    });
  if (!existsSync('dist/index.html'))
    throw new LabError({ code: 'bench.no-build', what: 'The page is not built', fix: 'Run: npm run build' });
  const server = await preview({ configFile: false, base: './', preview: { port: 0 }, logLevel: 'silent' });
  const browser = await chromium.launch({ executablePath, args: FLAGS, headless: true });
  try {
    return await measure(browser, server.resolvedUrls?.local[0] ?? '');
  } finally {
    await browser.close();
    await server.close();
  }
}

async function measure(browser: Browser, url: string): Promise<PageTasks> {
  const page = await browser.newPage();
  await page.goto(url);
  await page.locator('.katex').first().waitFor();
  const end = await trace(page);
  await page.reload();
  await page.locator('.katex').first().waitFor();
  await page.getByText('Will train on').waitFor();
  await page.locator('details.all > summary').first().click();
  await page.waitForTimeout(2000);
  const durations = await end();
  return { tasks: durations.length, longestMs: durations.slice(0, 5), chromium: browser.version() };
}

/** @returns a function that ends the trace and gives the main thread's tasks in ms, longest first */
async function trace(page: Page): Promise<() => Promise<number[]>> {
  const events: TraceEvent[] = [];
  const session = await page.context().newCDPSession(page);
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel'] },
  });
  return async () => {
    const complete = new Promise<void>((resolve) => session.once('Tracing.tracingComplete', () => resolve()));
    await session.send('Tracing.end');
    await complete;
    const thread = (e: TraceEvent) => `${e.pid}:${e.tid}`;
    const main = new Set(
      events.filter((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain').map(thread),
    );
    return events
      .filter((e) => e.name.endsWith('RunTask') && main.has(thread(e)))
      .map((e) => Math.round((e.tdur ?? 0) / 100) / 10)
      .sort((a, b) => b - a);
  };
}

const page: Bench = {
  name: 'page',
  summary: 'longest tasks of the built page on its main thread, ms of processor time',
  async run() {
    const { tasks, longestMs, chromium } = await measurePageTasks();
    const table = [['longest tasks', 'ms'], ...longestMs.map((ms, i) => [`${i + 1}`, ms])];
    return { values: { tasks, longestMs, chromium }, table, remarks: [`${tasks} tasks, Chromium ${chromium}`] };
  },
};
export default page;
