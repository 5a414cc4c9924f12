/**
 * How long the page's main thread is busy at a stretch while the notebook is drawn and used, or (`--run`) while it trains:
 * `npm run build`, then `npm run --silent bench -- page`. Tasks above 50 ms are felt. What is measured is processor time, so that
 * waiting for a core does not count; a crowded machine is also a slow one, so compare on a quiet one.
 */
import { existsSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { preview } from 'vite';
import { LabError } from '../../core/errors';
import { integerOption } from '../arguments';
import type { Bench } from '../bench';
import { withChromium } from '../chromium';

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

/**
 * Opens the built page in Chromium and traces its main thread.
 * @param runSeconds 0: while it is loaded and all parameters are opened; else for so long after Run was pressed
 */
async function measurePageTasks(runSeconds: number): Promise<PageTasks> {
  if (!existsSync('dist/index.html'))
    throw new LabError({ code: 'bench.no-build', what: 'The page is not built', fix: 'Run: npm run build' });
  const server = await preview({ configFile: false, base: './', preview: { port: 0 }, logLevel: 'silent' });
  try {
    return await withChromium(async (browser) => {
      const page = await browser.newPage();
      await page.goto(server.resolvedUrls?.local[0] ?? '');
      await page.locator('.katex').first().waitFor();
      const durations = runSeconds > 0 ? await traceRun(page, runSeconds) : await traceLoading(page);
      return { tasks: durations.length, longestMs: durations.slice(0, 5), chromium: browser.version() };
    });
  } finally {
    await server.close();
  }
}

async function traceLoading(page: Page): Promise<number[]> {
  const end = await trace(page);
  await page.reload();
  await page.locator('.katex').first().waitFor();
  await page.getByText('Will train on').waitFor();
  await page.locator('details.all > summary').first().click();
  await page.waitForTimeout(2000);
  return end();
}

/** Presses Run on the first experiment of the home page, `quick`, and shows the curves, which grow while it trains. */
async function traceRun(page: Page, seconds: number): Promise<number[]> {
  await page.getByText('Will train on').waitFor();
  const end = await trace(page);
  await page.locator('wa-button[data-command=run]').first().click();
  const until = Date.now() + seconds * 1000;
  await page.locator('lab-charts').first().scrollIntoViewIfNeeded();
  await page.waitForTimeout(Math.max(0, until - Date.now()));
  const iteration = await page.locator('lab-run-bar .line b').first().textContent();
  if (!iteration?.startsWith('Running'))
    throw new LabError({
      code: 'bench.no-run',
      what: 'The page did not train to the end of the measurement',
      expected: 'a run in progress',
      got: iteration ?? 'nothing',
      fix: 'Give it another number of seconds.',
    });
  return end();
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
  options: { run: { help: 'seconds to train quick while measuring (default 0: the page is loaded and used instead)' } },
  async run(run) {
    const { tasks, longestMs, chromium } = await measurePageTasks(integerOption(run, 'run', 0, [0, 600]));
    const table = [['longest tasks', 'ms'], ...longestMs.map((ms, i) => [`${i + 1}`, ms])];
    return { values: { tasks, longestMs, chromium }, table, remarks: [`${tasks} tasks, Chromium ${chromium}`] };
  },
};
export default page;
