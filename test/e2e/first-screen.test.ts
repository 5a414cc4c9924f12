/** The first screen, before any click: the recorded pair of episodes, its sentence and its button, without scrolling. */
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { launchPage } from './page';

const inside = async (part: Locator, page: Page) => {
  const box = await part.boundingBox();
  const view = page.viewportSize()!;
  return box !== null && box.y >= 0 && box.y + box.height <= view.height && box.x + box.width <= view.width;
};

const cases = [true, false].flatMap((webgpu) => [
  { webgpu, width: 1440, height: 900 },
  { webgpu, width: 1024, height: 768 },
]);

test.each(cases)('at $width × $height, WebGPU $webgpu: sentence, episodes and button are in view', async (where) => {
  const { webgpu, width, height } = where;
  const { page, problems, close } = await launchPage({ webgpu });
  await page.setViewportSize({ width, height });
  // Without an adapter there is one more line: wait for what it ends with.
  const label = webgpu ? 'Train it on your own GPU' : 'Train it here, on the processor';
  if (!webgpu) await page.getByText('tokens a second').waitFor();
  const button = page.locator('wa-button[data-train]').filter({ hasText: label });
  await button.waitFor();
  await page.locator('lab-episode-pane .terminal').first().getByText('cat ').first().waitFor();
  expect(await inside(page.locator('lab-episode .sentence'), page)).toBe(true);
  for (const policy of ['base', 'trained'])
    expect(await inside(page.locator(`lab-episode-pane[data-policy=${policy}]`), page), policy).toBe(true);
  expect(await inside(button, page)).toBe(true);
  expect(problems).toEqual([]);
  await close();
});

test('plays by itself, without a click and without WebGPU, until the fold shows what was lost and what was kept', async () => {
  const { page, close } = await launchPage({ webgpu: false });
  const [left, right] = ['base', 'trained'].map((policy) => page.locator(`lab-episode-pane[data-policy=${policy}]`));
  await left!.locator('.card mark.lost').first().waitFor();
  await right!.locator('.card mark.kept').first().waitFor();
  expect(await right!.locator('.card mark.lost').count()).toBe(0);
  await close();
});

test('on a phone the episode is the first thing under the title', async () => {
  const { page, close } = await launchPage({ viewport: 'phone' });
  await page.locator('lab-episode-pane').first().waitFor();
  const y = async (selector: string) => (await page.locator(selector).first().boundingBox())!.y;
  const [title, episode, prose] = [await y('h1'), await y('lab-episode-pane'), await y('lab-prose')];
  expect(episode).toBeGreaterThan(title);
  expect(prose).toBeGreaterThan(episode);
  expect(episode).toBeLessThan(844 / 2);
  await close();
});

test('the button trains what is shown: the preset of the recording, inserted where the notebook has no such cell', async () => {
  const { page, close } = await launchPage();
  await page.locator('lab-episode [data-task=repair]').click();
  await page.locator('lab-episode-pane .terminal').getByText('repair fork').first().waitFor();
  const before = await page.locator('lab-experiment').count();
  await page.locator('wa-button[data-train]').click();
  await expect.poll(() => page.locator('lab-experiment').count(), { timeout: 20_000 }).toBe(before + 1);
  const preset = () => page.locator('lab-setup wa-select').first();
  await expect
    .poll(() => preset().evaluate((select) => (select as HTMLSelectElement).value), { timeout: 20_000 })
    .toBe('code-suite');
  await page.locator('lab-experiment').first().locator('wa-button[data-command=pause]').waitFor();
  await close();
});
