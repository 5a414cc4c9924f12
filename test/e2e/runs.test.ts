/** Runs on the built page in a real browser, with and without WebGPU. */
import { expect, test } from 'vitest';
import { chooseSmoke, open, run, sentence, storedHeaders, storedRuns } from './notebook-page';

test('without WebGPU the page says so, measures what it trains with instead, and trains', async () => {
  const { page, axe, problems, screenshot, close } = await open({ webgpu: false });
  const line = page.getByText('Runs on the processor here');
  await line.waitFor();
  await page.getByText('Who gets the credit?').waitFor();
  await page.getByText(/tokens a second\. Why\?/).waitFor({ timeout: 60_000 });
  // Nothing but the line is in the way before someone asks.
  expect(await page.getByText('(yours)').isVisible()).toBe(false);
  await line.click();
  await page.getByText('(yours)').waitFor();
  const speed = page.getByText('Measured here just now');
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
