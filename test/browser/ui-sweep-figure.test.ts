/** The curve of an experiment whose setups are the values of one setting. */
import axe from 'axe-core';
import { afterEach, expect, test } from 'vitest';
import '../../src/ui/theme';
import '../../src/ui/components';
import { Comparison } from '../../src/ui/comparison/comparison';
import type { LabSweepFigure } from '../../src/ui/comparison/sweep-figure';
import '../../src/ui/comparison/sweep-figure';
import { fakeCell, fakeExperiment, fakeResults } from './ui/fake-results';
import { until } from './ui/mount';

afterEach(() => document.body.replaceChildren());

const lambdas = [0.98, 0.6, 0.9];
const arms = fakeExperiment.arms.filter(({ id }) => ['full', 'masked', 'uncorrected'].includes(id));
/** Success falls by 0.3 at λ = 0.6, for all arms alike. */
const swept = new Comparison({
  version: 1,
  experiment: {
    ...fakeExperiment,
    arms,
    setups: lambdas.map((lambda) => ({ id: `l-${100 * lambda}`, title: `λ ${lambda}`, config: { lambda } })),
  },
  cells: lambdas.flatMap((lambda) =>
    arms.flatMap(({ id }) =>
      [1, 2, 3, 4, 5, 6].map((seed) => fakeCell(`l-${100 * lambda}`, id, seed, lambda < 0.7 ? -0.3 : 0)),
    ),
  ),
});

function place(comparison: Comparison): LabSweepFigure {
  const figure = document.createElement('lab-sweep-figure') as LabSweepFigure;
  figure.comparison = comparison;
  document.body.append(figure);
  return figure;
}
const inside = (host: LabSweepFigure, selector: string) => host.shadowRoot!.querySelector(selector);

test('arms against the setting, in its order, with every seed', async () => {
  const host = place(swept);
  const svg = await until(() => inside(host, '.drawing svg'));
  const words = inside(host, '.drawing')!.getAttribute('aria-label')!;
  expect(words).toMatch(/, comp\. CompactionRL: 6\d\s%\D+0\.6, 9\d\s%\D+0\.9, 9\d\s%\D+0\.98\. Summary loss masked: /);
  const ticks = [...svg.querySelectorAll('[aria-label="x-axis tick label"] text')].map((text) => text.textContent);
  expect(ticks).toEqual(['0.6', '0.9', '0.98']);
  // Of each arm: 3 × 6 seeds, 3 means, 1 in the key.
  const dots = [...svg.querySelectorAll('[aria-label="dot"]')].map((group) => group.children.length);
  expect(dots).toEqual([18, 3, 1, 18, 3, 1, 18, 3, 1]);
  const [first] = [...svg.querySelectorAll('[aria-label="line"] path')].map((path) => path.getAttribute('d')!);
  const heights = first!.match(/,([\d.]+)/g)!.map((text) => Number(text.slice(1)));
  // Less success is lower, so further down.
  expect(heights[0]! - heights[1]!).toBeGreaterThan(50);
  expect((await axe.run(host)).violations).toEqual([]);
});

test('another evaluation is drawn when it is chosen', async () => {
  const host = place(swept);
  await until(() => inside(host, '.drawing svg'));
  const select = inside(host, 'wa-select') as HTMLElement & { value: string };
  // Takes a value only once it knows its options.
  await until(() => select.value === 'comp');
  select.value = 'long';
  select.dispatchEvent(new Event('change'));
  await host.updateComplete;
  expect(inside(host, '.drawing')!.getAttribute('aria-label')).toMatch(/, long\. CompactionRL: 38/);
});

test('nothing where setups are no values of one setting', async () => {
  const host = place(new Comparison(fakeResults));
  await host.updateComplete;
  expect(inside(host, '*:not(style)')).toBeNull();
});
