/** The built page in a real browser: how it looks, what it says, and that opening a link starts nothing. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { open, storedRuns, windowField } from './notebook-page';
import { launchPage } from './page';

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
