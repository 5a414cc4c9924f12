/** What is loaded late and fails says so in its place, says to reload when it fails again, and can be tried again. */
import { shippedFormulas } from 'virtual:shipped-formulas';
import axe from 'axe-core';
import { afterEach, expect, test, vi } from 'vitest';
import '../../src/ui/theme';
import '../../src/ui/components';
import type { IterationRecord } from '../../src/core/metrics/records';
import { benchBarsPart } from '../../src/ui/cells/bench';
import { chartSpecs } from '../../src/ui/charts/chart-specs';
import { type LabChart, plotPart } from '../../src/ui/charts/lab-chart';

import { Comparison } from '../../src/ui/comparison/comparison';
import '../../src/ui/comparison/seed-figure';
import type { LabSeedFigure } from '../../src/ui/comparison/seed-figure';
import '../../src/ui/cells/prose';
import { seedCurvesPart } from '../../src/ui/comparison/seed-panel';

import { type LabSweepFigure, sweepCurvesPart } from '../../src/ui/comparison/sweep-figure';
import { LazyPart } from '../../src/ui/lazy-part';
import { formulasPart, katexPart } from '../../src/ui/markdown';

import { type LabTerminal, xtermPart } from '../../src/ui/watch/lab-terminal';
import { fakeCell, fakeExperiment, fakeResults } from './ui/fake-results';
import { click, find, findAll, mount, textOf, until } from './ui/mount';

afterEach(() => {
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

function place<T extends HTMLElement>(name: string, fields: Partial<T>): T {
  const element = Object.assign(document.createElement(name) as T, fields);
  document.body.append(element);
  return element;
}
const faults = () => findAll('lab-part-fault[failed]');

/** Loading fails twice, then succeeds. @param show puts what needs the part on the page @param drawn what it draws then */
async function walk(part: LazyPart<unknown>, show: () => unknown, drawn: () => unknown): Promise<void> {
  const load = vi.spyOn(part, 'load');
  load
    .mockRejectedValueOnce(new TypeError('no such module 1'))
    .mockRejectedValueOnce(new TypeError('no such module 2'));
  await show();
  const fault = await until(() => faults()[0]);
  await until(() => textOf(fault).includes(`${part.title} could not be loaded.`));
  expect(textOf(fault)).toContain('no such module 1');
  expect(drawn()).toBeFalsy();
  expect((await axe.run(fault)).violations).toEqual([]);
  expect(load).toHaveBeenCalledTimes(1); // however many places need it
  await click('[data-load-again]');
  await until(() => textOf(fault).includes('then reload the page'));
  expect(textOf(fault)).toContain('no such module 2');
  await click('[data-load-again]');
  await until(drawn);
  await until(() => faults().length === 0);
  expect(load).toHaveBeenCalledTimes(3);
}

test('charts: all of them, and one try mends all', async () => {
  const specs = chartSpecs.slice(0, 3);
  const records = [{ iteration: 0 }, { iteration: 1 }] as unknown as IterationRecord[];
  await walk(
    plotPart,
    () => {
      for (const spec of specs) place<LabChart>('lab-chart', { spec, records, iterations: 2 });
      return until(() => faults().length === 3);
    },
    () => findAll('.drawing svg').length === 3,
  );
});

test('the curves of an experiment', () => {
  const comparison = new Comparison(fakeResults);
  return walk(
    seedCurvesPart,
    () => place<LabSeedFigure>('lab-seed-figure', { comparison }),
    () => find('lab-seed-panel') && findAll('.drawing svg').length === findAll('lab-seed-panel').length,
  );
});

test('the curve against a setting', async () => {
  const setups = [0.6, 0.9, 0.98].map((lambda) => ({
    id: `l-${100 * lambda}`,
    title: `λ ${lambda}`,
    config: { lambda },
  }));
  const comparison = new Comparison({
    version: 1,
    experiment: { ...fakeExperiment, setups },
    cells: setups.flatMap(({ id }) => fakeExperiment.arms.map((arm) => fakeCell(id, arm.id, 1, 0))),
  });
  await walk(
    sweepCurvesPart,
    () => place<LabSweepFigure>('lab-sweep-figure', { comparison }),
    () => find('.drawing svg'),
  );
});

test('the terminal, and what was written to it meanwhile', async () => {
  const terminal = place<LabTerminal>('lab-terminal', {});
  await walk(
    xtermPart,
    () => terminal.write('action', 'echo kept'),
    () => textOf(terminal).includes('echo kept'),
  );
});

// The first draws a formula that was drawn when the site was built; KaTeX is not there before the second.
const [shippedKey] = Object.keys(shippedFormulas).filter((key) => /^\$[^$]/.test(key));
for (const [part, formula] of [
  [formulasPart, shippedKey!.slice(1)],
  [katexPart, '\\gamma\\lambda^9'],
] as const)
  test(`formulas without ${part.title}: their source stands in the text meanwhile`, async () => {
    await walk(
      part,
      async () => {
        place('lab-prose', { cell: { kind: 'prose', markdown: `Some $${formula}$ inside.` } } as object);
        await until(() => find('code.formula')?.textContent === formula);
        expect(textOf(find('.prose'))).toMatch(/^Some .* inside\.$/);
      },
      () => find('.katex'),
    );
    expect(find('code.formula')).toBeUndefined();
  });

// The page around it has formulas of its own.
test('the bars of the bench', async () => {
  await mount({ benchMs: 1 });
  const add = await until(() => findAll('.insert.last button').find((b) => textOf(b).includes('Bench')));
  add.click();
  await walk(
    benchBarsPart,
    () => click('[data-bench=start]'),
    () => find('.bars svg'),
  );
});

test('what needs a part for a file is told, and loads it anew', async () => {
  const part = new LazyPart(
    'A part',
    vi.fn().mockRejectedValueOnce(new Error('gone')).mockRejectedValueOnce(new Error('gone')).mockResolvedValue(7),
  );
  expect(await part.get()).toBe(null);
  await expect(part.need()).rejects.toMatchObject({ code: 'page.part-missing', parts: { got: 'gone' } });
  expect(await part.get()).toBe(null);
  expect(await part.need()).toBe(7);
});
