/**
 * A real Chromium on the built site. `launchPage()` in a test, `page.problems` to see what went wrong on the page; the
 * browsers are closed after the file's tests.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, inject } from 'vitest';
import { chromiumFlags, findChromium } from '../../.ci/chromium.mjs';

export const viewports = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
} as const;

export interface PageOptions {
  readonly viewport?: keyof typeof viewports;
  readonly scheme?: 'light' | 'dark';
  readonly reducedMotion?: boolean;
  /** What follows the site's address, e.g. `#nb=…`. */
  readonly hash?: string;
  /** false: a browser in which WebGPU has no adapter. */
  readonly webgpu?: boolean;
  /** Done to the page before it goes to the site. */
  readonly before?: (page: Page) => Promise<void>;
}

export interface LabPage {
  readonly page: Page;
  readonly url: string;
  /**
   * Everything that should not have happened so far, in words: console errors, uncaught exceptions, failed or refused
   * requests, requests to another host. Tests expect it to equal [].
   */
  readonly problems: readonly string[];
  /** Violations of impact serious or critical, one line each: rule, help, first nodes. */
  axe(): Promise<string[]>;
  /** Saves the whole page to out/screenshots/<name>.png; returns the path. */
  screenshot(name: string): Promise<string>;
  close(): Promise<void>;
}

const browsers = new Map<boolean, Promise<Browser>>();

afterAll(async () => {
  for (const browser of browsers.values()) await (await browser).close();
  browsers.clear();
});

function browserWith(webgpu: boolean): Promise<Browser> {
  const running = browsers.get(webgpu);
  if (running) return running;
  const executablePath = findChromium();
  if (!executablePath) throw new Error('No Chromium: run `node .ci/setup.mjs test`, or set CHROMIUM_PATH.');
  const browser = chromium.launch({ executablePath, args: chromiumFlags({ webgpu }), headless: true });
  browsers.set(webgpu, browser);
  return browser;
}

/** Opens the built site in a fresh profile and waits for its load event. */
export async function launchPage(options: PageOptions = {}): Promise<LabPage> {
  const browser = await browserWith(options.webgpu ?? true);
  const context = await browser.newContext({
    viewport: viewports[options.viewport ?? 'desktop'],
    colorScheme: options.scheme ?? 'light',
    reducedMotion: options.reducedMotion ? 'reduce' : 'no-preference',
    isMobile: options.viewport === 'phone',
    hasTouch: options.viewport === 'phone',
  });
  // Shared links are read back from the clipboard.
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  const site = inject('siteUrl');
  const problems = collectProblems(page, new URL(site).origin);
  const url = site + (options.hash ?? '');
  await options.before?.(page);
  await page.goto(url);
  return {
    page,
    url,
    problems,
    axe: () => runAxe(page),
    screenshot: (name) => screenshot(page, name),
    close: () => context.close(),
  };
}

function collectProblems(page: Page, origin: string): string[] {
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`uncaught: ${error.message}`));
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`HTTP ${response.status()}: ${response.url()}`);
  });
  page.on('request', (request) => {
    const { protocol, origin: target } = new URL(request.url());
    if (protocol.startsWith('http') && target !== origin) problems.push(`another host: ${request.url()}`);
  });
  return problems;
}

async function runAxe(page: Page): Promise<string[]> {
  const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // Evaluated through the debugger, not as a script element, which the page's own CSP rightly refuses.
  await page.evaluate(source);
  const results = await page.evaluate(() => (window as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run());
  return results.violations
    .filter((violation) => violation.impact === 'serious' || violation.impact === 'critical')
    .map(({ id, help, nodes }) => {
      const where = nodes.slice(0, 3).map((node) => node.target.join(' '));
      return `${id}: ${help} (${where.join(', ')})`;
    });
}

async function screenshot(page: Page, name: string): Promise<string> {
  mkdirSync('out/screenshots', { recursive: true });
  const path = `out/screenshots/${name}.png`;
  await page.screenshot({ path, fullPage: true });
  return path;
}
