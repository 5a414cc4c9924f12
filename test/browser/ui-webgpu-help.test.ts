/** Without WebGPU the page says so in one line that unfolds, and names no speed that was not measured. */
import axe from 'axe-core';
import { afterEach, expect, test } from 'vitest';
import { page } from 'vitest/browser';
import { LabError } from '../../src/core/errors';
import type { FallbackSpeed } from '../../src/core/protocol/protocol';
import { find, findAll, mount, textOf, until } from './ui/mount';

afterEach(() => document.body.replaceChildren());

const help = () => until(() => find('lab-webgpu-help'));
const summary = () => until(() => find('lab-webgpu-help')?.shadowRoot?.querySelector('summary'));
const more = () => find('lab-webgpu-help')?.shadowRoot?.querySelector('.more') as HTMLElement;

test('shows the speed once it is measured, and the causes when asked', async () => {
  let measured: (speed: FallbackSpeed) => void = () => {};
  const fallback = () =>
    new Promise<FallbackSpeed>((resolve) => {
      measured = resolve;
    });
  await mount({ available: false, fallback });
  const line = await summary();
  expect(textOf(line)).toContain('measuring its speed … Why?');
  expect(textOf(line)).not.toMatch(/\d/);
  measured({ decodeTokensPerSecond: 71_834, updateTokensPerSecond: 42_345 });
  await until(() => textOf(line).includes('Runs on the processor here: 72,000 tokens a second. Why?'));
  expect(more().checkVisibility()).toBe(false);
  line.click();
  await until(() => more().checkVisibility());
  for (const part of [
    'The browser has no graphics adapter',
    '42,000 tokens per second',
    '(yours)',
    'Safari',
    'lab -- run',
  ])
    expect(textOf(more())).toContain(part);
  const { violations } = await axe.run(await help());
  expect(violations).toEqual([]);
});

test('says that nothing runs where jax-js fails too, and why', async () => {
  const fallback = () =>
    Promise.reject<FallbackSpeed>(new LabError({ code: 'jax.missing', what: 'WebAssembly is switched off' }));
  await mount({ available: false, fallback });
  const line = await summary();
  await until(() => textOf(line).includes('Runs do not work in this browser. Why?'));
  expect(textOf(more())).toContain('WebAssembly is switched off');
});

test.each([1440, 1024, 390])('takes no more than its line, at %i px', async (width) => {
  await page.viewport(width, 900);
  await mount({ available: false });
  const line = await summary();
  await until(() => textOf(line).includes('31,000 tokens'));
  // On a phone the sentence may wrap once.
  expect((await help()).getBoundingClientRect().height).toBeLessThanOrEqual(width < 640 ? 48 : 28);
  line.click();
  await until(() => more().checkVisibility());
  expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(width);
  expect(findAll('lab-webgpu-help')).toHaveLength(1);
});
