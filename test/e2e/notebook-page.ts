/** The notebook in a real browser: opening it, and what the tests touch and read in it. */
import type { Page } from 'playwright-core';
import { type LabPage, launchPage, type PageOptions } from './page';

/** Opens the page and waits until the notebook and its formulas are there. */
export async function open(options: PageOptions = {}): Promise<LabPage> {
  const lab = await launchPage(options);
  await lab.page.locator('lab-experiment').first().waitFor();
  await lab.page.locator('.katex').first().waitFor();
  return lab;
}

/** The first run button; Playwright's selectors look through shadow roots. */
export const run = (page: Page) => page.locator('wa-button[data-command=run]').first();

/** The window of the first experiment. */
export const windowField = (page: Page) => page.getByRole('spinbutton', { name: /^Window/ }).first();

/** Headers of the trainer runs that the browser keeps, straight from its storage. */
export const storedHeaders = (page: Page) =>
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

export const storedRuns = async (page: Page) => (await storedHeaders(page)).length;

/** Chooses the smoke preset. */
export async function chooseSmoke(page: Page): Promise<void> {
  await page.locator('lab-setup wa-select').first().click();
  await page.getByRole('option', { name: 'Smoke test' }).click();
  await page.getByText('Two iterations of eight episodes').waitFor();
}
/** The visible sentence on the state of the first run. */
export const sentence = (page: Page, text: string | RegExp) =>
  page.locator('lab-run-bar b').filter({ hasText: text }).first();
