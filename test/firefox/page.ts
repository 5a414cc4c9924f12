/** The built site in a stock Firefox over WebDriver BiDi: opening it, and what the walk touches and reads in it. */
import type { Browser, BrowserContext, ElementHandle, Page } from 'puppeteer-core';
import { afterAll, inject } from 'vitest';
import { launchFirefox } from '../../.ci/firefox.mjs';

export interface FirefoxPage {
  readonly page: Page;
  /** What should not have happened: console errors, uncaught exceptions, refused requests, requests to another host. */
  readonly problems: readonly string[];
  close(): Promise<void>;
}

let running: Promise<Browser> | undefined;

afterAll(async () => {
  await (await running)?.close();
  running = undefined;
});

/**
 * Opens the site in a profile of its own.
 * @param hash what follows the site's address, e.g. `#nb=…`
 */
export async function openSite(hash = ''): Promise<FirefoxPage> {
  running ??= launchFirefox();
  const context: BrowserContext = await (await running).createBrowserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.setViewport({ width: 1280, height: 800 });
  const site = inject('siteUrl');
  const problems = collectProblems(page, new URL(site).origin);
  await page.goto(site + hash);
  return { page, problems, close: () => context.close() };
}

function collectProblems(page: Page, origin: string): string[] {
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`uncaught: ${error instanceof Error ? error.message : String(error)}`));
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`HTTP ${response.status()}: ${response.url()}`);
  });
  page.on('request', (request) => {
    const { protocol, origin: target } = new URL(request.url());
    if (protocol.startsWith('http') && target !== origin) problems.push(`another host: ${request.url()}`);
  });
  return problems;
}

/** The first visible element that a CSS selector names, through shadow roots. */
export const find = (page: Page, selector: string): Promise<ElementHandle<Element>> =>
  page.locator(`>>> ${selector}`).setVisibility('visible').waitHandle() as Promise<ElementHandle<Element>>;

/**
 * Scrolls to an element until what it draws in sight is there. Once is not enough: the page above still grows after a run.
 * @param drawn selector of what appears
 */
export async function scrollTo(page: Page, selector: string, drawn: string, timeout = 30_000): Promise<void> {
  for (const end = Date.now() + timeout; !(await page.$(`>>> ${drawn}`)); ) {
    if (Date.now() > end) throw new Error(`${drawn}: not drawn within ${timeout} ms of scrolling to ${selector}.`);
    await (await find(page, selector)).evaluate((element) => element.scrollIntoView());
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Waits for a text on the page, through shadow roots, and returns what stands in its innermost element. */
export async function textThere(page: Page, text: string | RegExp, timeout = 30_000): Promise<string> {
  const { source, flags } =
    typeof text === 'string' ? { source: text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), flags: '' } : text;
  const found = await page.waitForFunction(
    (source, flags) => {
      const wanted = new RegExp(source, flags);
      const search = (root: ParentNode): string | undefined => {
        for (const element of root.querySelectorAll('*')) {
          const inside = element.shadowRoot && search(element.shadowRoot);
          if (inside) return inside;
          // The innermost element: none of its children has the whole text.
          const own = (element.textContent ?? '').replace(/\s+/g, ' ').trim();
          const childHasIt = [...element.children].some((child) => wanted.test((child.textContent ?? '').trim()));
          if (!childHasIt && wanted.test(own) && !/^(style|script)$/i.test(element.tagName)) return own;
        }
        return undefined;
      };
      return search(document);
    },
    { timeout, polling: 200 },
    source,
    flags,
  );
  return (await found.jsonValue()) as string;
}

/** The text field of the number that has this label in the first experiment. */
export async function numberField(page: Page, label: string): Promise<ElementHandle<Element>> {
  const host = await page.waitForFunction(
    (label) => {
      const search = (root: ParentNode): Element | undefined => {
        for (const element of root.querySelectorAll('*')) {
          if (element.localName === 'wa-number-input' && element.textContent?.trim().startsWith(label)) {
            const input = element.shadowRoot?.querySelector('input');
            if (input?.checkVisibility()) return input;
          }
          const inside = element.shadowRoot && search(element.shadowRoot);
          if (inside) return inside;
        }
        return undefined;
      };
      return search(document);
    },
    {},
    label,
  );
  return host as ElementHandle<Element>;
}

/** Types a number over what the field holds, and leaves the field. */
export async function setNumber(page: Page, label: string, value: number): Promise<void> {
  const field = await numberField(page, label);
  await field.evaluate((input) => (input as HTMLInputElement).select());
  await field.type(String(value));
  await page.keyboard.press('Tab');
}

export async function click(page: Page, selector: string): Promise<void> {
  await (await find(page, selector)).click();
}

/** Opens the page and waits until the notebook, its formulas and its adapter are there; before that it still moves. */
export async function openNotebook(hash = ''): Promise<FirefoxPage> {
  const lab = await openSite(hash);
  await find(lab.page, 'lab-experiment');
  await find(lab.page, '.katex');
  await textThere(lab.page, 'Will train on');
  return lab;
}

/** Chooses the smoke preset of the first experiment. */
export async function chooseSmoke(page: Page): Promise<void> {
  await click(page, 'lab-setup >>> wa-select');
  await click(page, 'wa-option[value=smoke]');
  await textThere(page, 'Two iterations of eight episodes');
}

/** Headers of the runs that the browser keeps, straight from its storage. */
export const storedHeaders = (page: Page) =>
  page.evaluate(async () => {
    const settled = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    const database = await settled(indexedDB.open('compaction-lab'));
    try {
      if (!database.objectStoreNames.contains('runs')) return [];
      const runs = await settled(database.transaction('runs').objectStore('runs').getAll());
      return runs.map(({ header }) => header as { engine: string; adapter: string });
    } finally {
      database.close();
    }
  });
