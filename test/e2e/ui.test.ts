/** The built page in a real browser: how it looks, what it says, and that opening a link starts nothing. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type LabPage, launchPage, type PageOptions } from './page';

/** Opens the page and waits until the notebook and its formulas are there. */
async function open(options: PageOptions = {}): Promise<LabPage> {
  const lab = await launchPage(options);
  await lab.page.locator('lab-experiment').first().waitFor();
  await lab.page.locator('.katex').first().waitFor();
  return lab;
}

/** The first run button; Playwright's selectors look through shadow roots. */
const run = (page: Page) => page.locator('wa-button[data-command=run]').first();

/** The window of the first experiment. */
const windowField = (page: Page) => page.getByRole('spinbutton', { name: /^Window/ }).first();

/** Headers of the trainer runs that the browser keeps, straight from its storage. */
const storedHeaders = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<unknown[]>((resolve, reject) => {
        const request = indexedDB.open('compaction-lab');
        request.onerror = () => reject(request.error);
        request.onsuccess = () => {
          const database = request.result;
          if (!database.objectStoreNames.contains('runs')) return resolve([]);
          const runs = database.transaction('runs').objectStore('runs').getAll();
          runs.onsuccess = () => {
            database.close();
            resolve(runs.result.map(({ header }) => header));
          };
        };
      }),
  );

const storedRuns = async (page: Page) => (await storedHeaders(page)).length;

async function shareLink(page: Page): Promise<string> {
  await page.locator('wa-button.share').click();
  await page.getByText(/Copied, [\d.]+\s?kB/).waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
}

describe.each([
  ['desktop', 'light'],
  ['desktop', 'dark'],
  ['phone', 'light'],
  ['phone', 'dark'],
] as const)('%s, %s', (viewport, scheme) => {
  test('is readable, fits its width, has no console errors, and axe finds nothing serious', async () => {
    const { page, problems, axe, screenshot, close } = await open({ viewport, scheme });
    await page.getByText('Will train on').waitFor();
    const path = await screenshot(`home-${viewport}-${scheme}`);
    expect(readFileSync(path).length).toBeGreaterThan(50_000);
    const { scroll, inner } = await page.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      inner: document.documentElement.clientWidth,
    }));
    expect(scroll).toBeLessThanOrEqual(inner);
    expect(await axe()).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });
});

test('at 360 px nothing is wider than the screen', async () => {
  const { page, close } = await open({ viewport: 'phone' });
  await page.setViewportSize({ width: 360, height: 740 });
  await page.locator('details.all > summary').first().click();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await close();
});

test('formulas use the bundled fonts', async () => {
  const { page, close } = await open();
  // Formulas further down are set later: fonts that are ready now need not be all. Fails when they never come.
  await page.waitForFunction(
    () => [...document.fonts].filter((f) => f.family.startsWith('KaTeX') && f.status === 'loaded').length > 2,
  );
  await close();
});

test('a notebook of the page has an address, which an edit leaves', async () => {
  const { page, problems, axe, close } = await open();
  await page.getByRole('link', { name: 'What reproduces' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'What reproduces' }).waitFor();
  await page.locator('lab-comparison').getByText('CompactionRL').first().waitFor();
  expect(new URL(page.url()).hash).toBe('#what-reproduces');
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'What reproduces' }).waitFor();
  for (const width of [1280, 390, 360]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  }
  expect(await axe()).toEqual([]);
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Learning what' }).waitFor();
  await windowField(page).fill('96');
  await page.keyboard.press('Tab');
  await expect.poll(() => new URL(page.url()).hash).toBe('');
  expect(problems).toEqual([]);
  await close();
});

describe('a shared link', () => {
  test('carries the notebook to another browser, which shows it, starts nothing and saves nothing', async () => {
    const first = await open();
    await windowField(first.page).fill('96');
    await first.page.keyboard.press('Tab');
    await first.page.getByText('1 changed from the preset').waitFor();
    const link = await shareLink(first.page);
    expect(link).toMatch(/#nb=1\.[\w-]+\.[0-9a-f]{8}$/);
    await first.close();

    const second = await open({ hash: link.slice(link.indexOf('#')) });
    await second.page.getByText('Opened from a link.').waitFor();
    await second.page.getByText('1 changed from the preset').waitFor();
    expect(await windowField(second.page).inputValue()).toBe('96');
    await second.page.getByText('Will train on').waitFor();
    // An edit of a fork is kept only when its reader asks for it.
    await windowField(second.page).fill('128');
    await second.page.keyboard.press('Tab');
    await second.page.waitForTimeout(1500);
    expect(await storedRuns(second.page)).toBe(0);
    await second.page.locator('wa-button.library').click();
    await second.page.getByText('None yet.').waitFor();
    expect(await second.page.getByText('open now').count()).toBe(0);
    await second.page.keyboard.press('Escape');
    await second.page.getByText('Save a copy').click();
    await second.page.getByText('Opened from a link.').waitFor({ state: 'detached' });
    await expect.poll(() => second.page.url()).not.toContain('#nb=');
    await second.page.reload();
    await second.page.getByText('1 changed from the preset').waitFor();
    expect(await windowField(second.page).inputValue()).toBe('128');
    expect(second.problems).toEqual([]);
    await second.close();
  });

  test('the same notebook gives the same link', async () => {
    const first = await open();
    const link = await shareLink(first.page);
    await first.close();
    const second = await open({ hash: link.slice(link.indexOf('#')) });
    expect(await shareLink(second.page)).toBe(link);
    await second.close();
  });

  test.each([
    ['cut', (l: string) => l.slice(0, -9)],
    ['changed', (l: string) => l.replace(/.(?=.{40}$)/, (c) => (c === 'A' ? 'B' : 'A'))],
    ['of a later version', (l: string) => l.replace('nb=1.', 'nb=2.')],
    ['empty', () => '#nb='],
  ])('that is %s says so and shows the visitor’s own notebook', async (_, mutate) => {
    const first = await open();
    const link = await shareLink(first.page);
    await first.close();
    const { page, problems, close } = await launchPage({ hash: mutate(link.slice(link.indexOf('#'))) });
    const panel = page.locator('lab-error section').first();
    await panel.waitFor();
    expect(await panel.textContent()).toMatch(/link\.(damaged|version)/);
    await page.locator('lab-experiment').first().waitFor();
    expect(await page.getByText('Opened from a link.').count()).toBe(0);
    expect(problems).toEqual([]);
    await close();
  });
});

test('without WebGPU the page says so, measures what it trains with instead, and trains', async () => {
  const { page, axe, problems, screenshot, close } = await open({ webgpu: false });
  await page.getByText('No WebGPU here').waitFor();
  await page.getByText('(yours)').waitFor();
  await page.getByText('Who gets the credit?').waitFor();
  const speed = page.getByText('Measured here just now');
  await speed.waitFor({ timeout: 60_000 });
  const rates = [...((await speed.textContent()) ?? '').matchAll(/([\d,]+) tokens per second/g)];
  expect(rates.map(([, rate]) => Number(rate!.replaceAll(',', ''))).filter((rate) => rate > 0)).toHaveLength(2);
  expect(await axe()).toEqual([]);
  await screenshot('no-webgpu');
  await chooseSmoke(page);
  await page.getByText('will train with jax-js on WebAssembly').first().waitFor();
  await run(page).click();
  await sentence(page, 'Finished after 2 iterations').waitFor({ timeout: 100_000 });
  await page.locator('lab-charts').first().scrollIntoViewIfNeeded();
  await page.locator('.drawing svg').first().waitFor();
  expect(await storedHeaders(page)).toMatchObject([{ engine: 'jax', adapter: 'WebAssembly (jax-js)' }]);
  expect(problems).toEqual([]);
  await screenshot('no-webgpu-trained');
  await close();
});

test('everything can be reached and used by keyboard', async () => {
  const { page, close } = await open();
  await page.keyboard.press('Tab');
  expect(
    await page.evaluate(() => document.querySelector('lab-app')?.shadowRoot?.activeElement?.textContent),
  ).toContain('Skip to the notebook');
  /** The innermost focused element: its label or text. */
  const focused = () =>
    page.evaluate(() => {
      let element = document.activeElement;
      while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
      const root = element?.getRootNode();
      const host = root instanceof ShadowRoot ? root.host.textContent : '';
      return `${element?.getAttribute('aria-label') ?? ''} ${element?.textContent ?? ''} ${host}`;
    });
  const seen: string[] = [];
  for (let i = 0; i < 120 && !seen.at(-1)?.includes('Run'); i++) {
    await page.keyboard.press('Tab');
    seen.push((await focused()).replace(/\s+/g, ' '));
  }
  for (const name of ['Share', 'My runs', 'Text', 'Window', 'Run']) expect(seen.join('|')).toContain(name);
  await close();
});

/** Chooses the smoke preset. */
async function chooseSmoke(page: Page): Promise<void> {
  await page.locator('lab-setup wa-select').first().click();
  await page.getByRole('option', { name: 'Smoke test' }).click();
  await page.getByText('Two iterations of eight episodes').waitFor();
}
/** The visible sentence on the state of the first run. */
const sentence = (page: Page, text: string | RegExp) => page.locator('lab-run-bar b').filter({ hasText: text }).first();

test('smoke runs to its end, with curves, and is found again after a reload', async () => {
  const { page, problems, axe, screenshot, close } = await open();
  await chooseSmoke(page);
  await run(page).click();
  await sentence(page, 'Finished after 2 iterations').waitFor({ timeout: 100_000 });
  await page.locator('lab-charts').first().scrollIntoViewIfNeeded();
  await page.locator('.drawing svg').first().waitFor();
  // Sixteen held-out episodes, whatever they require.
  const room = await page.locator('lab-by-compactions .long').textContent();
  expect(room).toMatch(/Twice the window, compaction off: \d+\s%\s+of 16 episodes/);
  const counts = await page.locator('lab-by-compactions td:not(.single) .of').allTextContents();
  expect(counts.map((t) => Number(t.replace('of ', ''))).reduce((a, b) => a + b, 0)).toBe(16);
  expect(await axe()).toEqual([]);
  await screenshot('smoke-finished');
  // On a phone nothing of what a finished run shows is wider than the page.
  const desktop = page.viewportSize()!;
  await page.setViewportSize({ width: 360, height: 800 });
  await page.waitForFunction(() => document.documentElement.scrollWidth <= 360);
  await page.setViewportSize(desktop);
  expect(await storedRuns(page)).toBe(1);
  await page.reload();
  // The draft remembers the experiment, and the experiment recognises its run.
  await sentence(page, 'Finished after 2 iterations').waitFor();
  await page.locator('wa-button.library').click();
  await page.getByText(/finished · iteration 2 of 2/).waitFor();
  expect(problems).toEqual([]);
  await close();
});

test('a run cut off by a reload is offered for resuming, and goes on', async () => {
  const { page, problems, close } = await open();
  await chooseSmoke(page);
  const iterations = page.getByRole('spinbutton', { name: /^Iterations/ }).first();
  await iterations.fill('40');
  await page.keyboard.press('Tab');
  await run(page).click();
  await sentence(page, /Running, iteration [3-9] of 40/).waitFor({ timeout: 60_000 });
  await page.reload();
  await sentence(page, /Interrupted after iteration \d+ of 40/).waitFor();
  const done = Number(/iteration (\d+)/.exec((await sentence(page, /Interrupted/).textContent()) ?? '')?.[1]);
  expect(done).toBeGreaterThanOrEqual(2);
  await page.locator('wa-button[data-command=resume]').first().click();
  const later = new RegExp(`Running, iteration (${[2, 3, 4, 5, 6, 7, 8].map((n) => done + n).join('|')}) of 40`);
  await sentence(page, later).waitFor({ timeout: 60_000 });
  await page.locator('wa-button[data-command=stop]').first().click();
  await sentence(page, 'Stopped after').waitFor({ timeout: 30_000 });
  expect(await storedRuns(page)).toBe(1);
  expect(problems).toEqual([]);
  await close();
});

test('a double click on Run starts a run and does not pause it', async () => {
  const { page, close } = await open();
  await chooseSmoke(page);
  const iterations = page.getByRole('spinbutton', { name: /^Iterations/ }).first();
  await iterations.fill('40');
  await page.keyboard.press('Tab');
  await run(page).dblclick();
  await sentence(page, /Running, iteration [2-9] of 40/).waitFor({ timeout: 60_000 });
  await page.locator('wa-button[data-command=stop]').first().click();
  await sentence(page, 'Stopped after').waitFor({ timeout: 30_000 });
  expect(await storedRuns(page)).toBe(1);
  await close();
});

test('preset, run, pause, step and stop by keyboard alone', async () => {
  const { page, problems, close } = await open();
  const preset = page.locator('lab-setup wa-select').first();
  await preset.evaluate((select: HTMLElement) => select.focus());
  await page.keyboard.press('Space');
  await page.getByRole('option', { name: 'Smoke test' }).waitFor();
  await page.keyboard.type('Smoke');
  await page.waitForTimeout(300); // the list moves to what was typed
  await page.keyboard.press('Enter');
  await page.getByText('Two iterations of eight episodes').waitFor();
  const iterations = page.getByRole('spinbutton', { name: /^Iterations/ }).first();
  await iterations.fill('40');
  /** Which command has the keyboard. */
  const command = () =>
    page.evaluate(() => {
      let element: Element | null | undefined = document.activeElement;
      while (element && !(element as HTMLElement).dataset.command) element = element.shadowRoot?.activeElement;
      return (element as HTMLElement | undefined)?.dataset.command;
    });
  for (let i = 0; i < 20 && (await command()) !== 'run'; i++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await sentence(page, /Running, iteration [1-9] of 40/).waitFor({ timeout: 60_000 });
  await expect.poll(command).toBe('pause');
  await page.waitForTimeout(500); // a press just after the buttons changed is taken for the second of a double one
  await page.keyboard.press('Space');
  await sentence(page, /Paused, iteration \d+ of 40/).waitFor({ timeout: 30_000 });
  await expect.poll(command).toBe('resume');
  await page.waitForTimeout(500);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await sentence(page, /Paused, iteration \d+ of 40/).waitFor({ timeout: 30_000 });
  await expect.poll(command).toBe('step');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await sentence(page, 'Stopped after').waitFor({ timeout: 30_000 });
  await expect.poll(command).toMatch(/resume|run/);
  expect(problems).toEqual([]);
  await close();
});

test('a run in one tab is shown as such in another, which cannot resume it until the first has stopped', async () => {
  const { page, url, problems, close } = await open();
  await chooseSmoke(page);
  const iterations = page.getByRole('spinbutton', { name: /^Iterations/ }).first();
  await iterations.fill('400');
  await page.keyboard.press('Tab');
  await run(page).click();
  await sentence(page, /Running, iteration [2-9] of 400/).waitFor({ timeout: 60_000 });
  const other = await page.context().newPage();
  await other.goto(url);
  await sentence(other, 'Running in another tab').waitFor({ timeout: 30_000 });
  expect(await other.locator('wa-button[data-command=resume]').count()).toBe(0);
  await other.locator('wa-button.library').click();
  await other.getByText(/running in another tab · iteration/).waitFor();
  await other.keyboard.press('Escape');
  await page.locator('wa-button[data-command=stop]').first().click();
  await sentence(page, 'Stopped after').waitFor({ timeout: 30_000 });
  await sentence(other, 'Stopped after').waitFor({ timeout: 30_000 });
  await other.locator('wa-button[data-command=resume]').first().click();
  await sentence(other, /Running, iteration \d+ of 400/).waitFor({ timeout: 60_000 });
  expect(problems).toEqual([]);
  await close();
});
