/** The device panel: folded away, tells which kernels are used and why, measures again. */
import axe from 'axe-core';
import { afterEach, expect, test } from 'vitest';
import { click, find, findAll, mount, textOf, until } from './ui/mount';

afterEach(() => document.body.replaceChildren());

async function open(): Promise<HTMLElement> {
  const summary = await until(
    () => find('lab-device-panel summary') ?? findAll('summary').find((s) => textOf(s).includes('Graphics adapter')),
  );
  summary.click();
  return until(() => find('lab-device-panel'));
}

test('measures at the first request, shows ratios, and measures again', async () => {
  const { trainer } = await mount();
  const panel = await open();
  await until(() => textOf(panel).includes('measured when a model is first trained'));
  await click('[data-measure]');
  await until(() => findAll('tbody tr').length === 2);
  const text = textOf(panel).replaceAll(' :', ':');
  for (const part of [
    'SwiftShader',
    '1 layer, width 32',
    'subgroup',
    'registers: 2.5 × as long',
    'tiled: not tried',
    '4,096 tokens',
  ])
    expect(text).toContain(part);
  await until(() => find('[data-measure]')?.textContent?.includes('Measure again'));
  await click('[data-measure]');
  await until(() => trainer.calls.filter((c) => c === 'measureKernels').length === 2);
  const { violations } = await axe.run(panel);
  expect(violations).toEqual([]);
});

test('offers no measurement while a run occupies the adapter', async () => {
  await mount({ iterationMs: 60_000 });
  await click('[data-command=run]');
  const panel = await open();
  await until(() => textOf(panel).includes('Not while a run occupies the adapter'));
  expect(find('[data-measure]')?.hasAttribute('disabled')).toBe(true);
});

test('says nothing where there is no adapter', async () => {
  await mount({ available: false });
  await until(() => find('lab-webgpu-help'));
  expect(textOf(find('lab-device-panel'))).toBe('');
});
