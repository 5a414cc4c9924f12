/** The figure of all claims: drawn from the files, its numbers in a table, and what goes wrong said. */
import axe from 'axe-core';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { page } from 'vitest/browser';
import type { LabClaims } from '../../src/ui/cells/claims';
import '../../src/ui/cells/registry';
import type { LabNotebook } from '../../src/ui/notebook-view';
import { fakeResults } from './ui/fake-results';
import { fakeFetch, find, findAll, mount, textOf, until } from './ui/mount';

// The first drawing would otherwise wait for the plotting library.
beforeAll(() => import('../../src/ui/charts/forest'));
beforeEach(() => page.viewport(1280, 700));
afterEach(() => document.body.replaceChildren());

const MORE = { ...fakeResults, experiment: { ...fakeResults.experiment, id: 'more', title: 'More' } };
const two = async (name: string) => (name === 'more' ? JSON.stringify(MORE) : fakeFetch(name));

async function show(results: readonly string[], fetchResults: (name: string) => Promise<string>): Promise<LabClaims> {
  const { app } = await mount();
  const element = document.createElement('lab-claims') as LabClaims;
  element.cell = { kind: 'claims', results: [...results] };
  element.services = { ...app.services!, fetchResults };
  document.body.replaceChildren(element);
  return element;
}

const unfold = (selector: string) => {
  (find(selector) as HTMLDetailsElement).open = true;
};

test('draws each claim of each file with its verdict, and unfolds questions and numbers', async () => {
  const cell = await show(['paper-table', 'more'], two);
  const drawing = await until(() => find('lab-forest-figure .drawing, .drawing svg') && findAll('.drawing svg')[0]);
  const words = drawing.textContent!;
  for (const text of ['Sample experiment', 'More', 'Training the summaries', 'Code, small', 'reproduced'])
    expect(words).toContain(text);
  expect(words).not.toContain('longer than masked');
  // Two claims of the paper in two setups, twice; a mark each in the plot and beside its name.
  expect(drawing.querySelectorAll('[aria-label=dot]')).toHaveLength(16);
  unfold('[data-fold=questions]');
  const asked = await until(() => findAll('.drawing')[1]?.querySelector('svg'));
  expect(asked.textContent).toContain('longer than masked');
  unfold('[data-fold=numbers]');
  const rows = await until(() => (findAll('tbody tr').length > 0 ? findAll('tbody tr') : null));
  expect(rows).toHaveLength(12);
  expect(textOf(rows[0])).toMatch(/^Training the summaries .* \+\d+\.\d \[\+.*points 6 .*reproduced Sample/);
  expect((await axe.run(cell)).violations).toEqual([]);
});

test('fits a phone', async () => {
  await page.viewport(390, 800);
  const cell = await show(['paper-table'], two);
  await until(() => findAll('.drawing svg')[0]);
  unfold('[data-fold=numbers]');
  await until(() => findAll('tbody tr')[0]);
  expect(cell.scrollWidth).toBeLessThanOrEqual(cell.clientWidth);
  expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(390);
});

test('names the file that is missing, and tries again', async () => {
  let there = false;
  await show(['paper-table', 'more'], async (name) => (name === 'more' && !there ? 'nothing' : two(name)));
  expect(textOf(await until(() => find('lab-error')))).toContain('results/more.json');
  there = true;
  (await until(() => find('[data-again]'))).click();
  await until(() => findAll('.drawing svg')[0]);
});

test('a folded comparison builds its parts when it is unfolded', async () => {
  const { app, trainer } = await mount();
  const element = document.createElement('lab-comparison');
  Object.assign(element, {
    cell: { kind: 'comparison', results: 'paper-table', folded: true },
    services: app.services,
    session: { api: trainer, addEventListener() {}, removeEventListener() {} },
  });
  document.body.replaceChildren(element);
  await until(() => find('details'));
  expect(textOf(find('header'))).toContain('Sample experiment');
  expect(find('lab-arm-table')).toBeUndefined();
  unfold('details');
  await until(() => find('lab-arm-table'));
});

test('the contents lead to their cells', async () => {
  const { app } = await mount();
  const notebook = await until(() => find('lab-notebook') as LabNotebook | undefined);
  expect(app.isConnected).toBe(true);
  notebook.model.insert(0, { kind: 'contents' });
  await until(() => textOf(find('lab-contents')).includes('No heading yet'));
  const key = notebook.model.insert(3, { kind: 'prose', markdown: '## The *end*' });
  const entry = await until(() => findAll('button').find((button) => textOf(button) === 'The end'));
  entry.click();
  await until(() => notebook.shadowRoot?.activeElement?.id === `cell-${key}`);
  expect((await axe.run(find('lab-contents')!)).violations).toEqual([]);
});
