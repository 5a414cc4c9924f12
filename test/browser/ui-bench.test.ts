/** The bench cell: measures on request, can be stopped, keeps out of a run's way, and gives its numbers away. */
import axe from 'axe-core';
import { afterEach, expect, test } from 'vitest';
import type { FakeOptions } from './ui/fake-trainer';
import { click, find, findAll, mount, textOf, until } from './ui/mount';

afterEach(() => document.body.replaceChildren());

async function mountBench(options: FakeOptions = {}) {
  const mounted = await mount(options);
  const add = await until(() => findAll('.insert.last button').find((b) => textOf(b).includes('Bench')));
  add.click();
  const cell = await until(() => find('lab-bench'));
  return { ...mounted, cell };
}

test('fills its table while it measures, then draws bars and offers the numbers', async () => {
  const { trainer, cell, shelf } = await mountBench({ benchMs: 150 });
  await click('[data-bench=start]');
  await until(() => textOf(cell).includes('about 1 min 5 s left') && textOf(cell).includes('PPO update'));
  expect(findAll('.bars')).toEqual([]);
  await until(() => find('.bars svg'));
  expect(trainer.calls).toContain('bench quick');
  const text = textOf(cell);
  for (const part of ['80,000', '72.0 k–96.0 k', '× 10.0', '× 4.0', '8.4 GFLOP/s', '0.1.0+test'])
    expect(text).toContain(part);
  const buttons = [...cell.shadowRoot!.querySelectorAll('wa-button')].map((b) => b.textContent?.trim());
  expect(buttons).toEqual(['Measure again', 'Copy JSON', 'JSON', 'CSV']);
  expect((await axe.run(cell)).violations).toEqual([]);
  // Numbers belong to the machine: the notebook that is kept has none.
  await until(() => shelf.saved.size > 0);
  expect([...shelf.saved.values()].at(-1)?.cells.at(-1)).toEqual({ kind: 'bench', large: false });
});

test('the larger model on request; stopping keeps what there is', async () => {
  const { trainer, cell } = await mountBench({ benchMs: 150 });
  const large = await until(() => find('lab-bench')?.shadowRoot?.querySelector('wa-switch'));
  large.checked = true;
  large.dispatchEvent(new Event('change'));
  await click('[data-bench=start]');
  await until(() => textOf(cell).includes('PPO update'));
  await click('[data-bench=stop]');
  await until(() => textOf(cell).includes('Stopped early'));
  expect(trainer.calls).toContain('bench quick,d128');
  expect(findAll('lab-bench')[0]!.shadowRoot!.querySelectorAll('tbody tr').length).toBe(1);
  expect(find('[data-bench]')?.dataset.bench).toBe('start');
});

test('is off while a run occupies the adapter, and where there is none', async () => {
  const { cell } = await mountBench({ iterationMs: 60_000 });
  await click('[data-command=run]');
  await until(() => textOf(cell).includes('Not while a run occupies the adapter'));
  expect(find('[data-bench]')?.hasAttribute('disabled')).toBe(true);
  const without = await mountBench({ available: false });
  await until(() => textOf(without.cell).includes('no graphics adapter'));
  expect(find('[data-bench]')?.hasAttribute('disabled')).toBe(true);
});
