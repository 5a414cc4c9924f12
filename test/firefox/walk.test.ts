/** The reader's walk in a stock Firefox: open, train, share, open the link elsewhere, reload, resume. */
import { expect, test } from 'vitest';
import {
  chooseSmoke,
  click,
  numberField,
  openNotebook,
  openSite,
  scrollTo,
  setNumber,
  storedHeaders,
  textThere,
} from './page';

test('a page trains on the adapter of Firefox, its link opens in another profile, and a reload finds the run', async () => {
  const { page, problems, close } = await openNotebook();
  await chooseSmoke(page);
  await click(page, 'wa-button[data-command=run]');
  await textThere(page, 'Finished after 2 iterations', 60_000);
  await scrollTo(page, 'lab-charts', '.drawing svg');
  expect(await storedHeaders(page)).toMatchObject([{ engine: 'webgpu' }]);

  await click(page, 'wa-button.share');
  await textThere(page, /Copied, [\d.]+\s?kB/);
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link).toMatch(/#nb=1\.[\w-]+\.[0-9a-f]{8}$/);

  const other = await openSite(link.slice(link.indexOf('#')));
  await textThere(other.page, 'Opened from a link.');
  await textThere(other.page, 'Two iterations of eight episodes');
  expect(await storedHeaders(other.page)).toEqual([]);
  expect(other.problems).toEqual([]);
  await other.close();

  await page.reload();
  await textThere(page, 'Finished after 2 iterations');
  expect(problems).toEqual([]);
  await close();
});

test('a run cut off by a reload is offered for resuming, and goes on', async () => {
  const { page, problems, close } = await openNotebook();
  await chooseSmoke(page);
  await setNumber(page, 'Iterations', 40);
  await click(page, 'wa-button[data-command=run]');
  await textThere(page, /Running, iteration [3-9] of 40/, 60_000);
  await page.reload();
  const interrupted = await textThere(page, /Interrupted after iteration \d+ of 40/);
  const done = Number(/after iteration (\d+)/.exec(interrupted)?.[1]);
  expect(done).toBeGreaterThanOrEqual(2);
  expect(await (await numberField(page, 'Iterations')).evaluate((field) => (field as HTMLInputElement).value)).toBe(
    '40',
  );
  await click(page, 'wa-button[data-command=resume]');
  const later = [2, 3, 4, 5, 6, 7, 8].map((n) => done + n).join('|');
  await textThere(page, new RegExp(`Running, iteration (${later}) of 40`), 60_000);
  await click(page, 'wa-button[data-command=stop]');
  await textThere(page, 'Stopped after');
  expect(await storedHeaders(page)).toHaveLength(1);
  expect(problems).toEqual([]);
  await close();
});
