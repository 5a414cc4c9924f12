/** The comparison cell: tables, verdicts, every seed, files; readable on a phone and without a pointer. */
import axe from 'axe-core';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { page } from 'vitest/browser';
import type { LabComparison } from '../../src/ui/cells/comparison';
import { fakeResults } from './ui/fake-results';
import type { FakeOptions } from './ui/fake-trainer';
import { click, find, findAll, mount, textOf, until } from './ui/mount';

// The first drawing would otherwise wait for the plotting library.
beforeAll(() => import('../../src/ui/charts/seed-curves'));
beforeEach(() => page.viewport(1280, 700));
afterEach(() => document.body.replaceChildren());

/** What matches inside the shadow tree of an element, and of those below it. */
const within = (host: string, selector: string): HTMLElement[] =>
  findAll(host).flatMap((element) => findAll(selector, element.shadowRoot!));

const press = async (host: string, selector: string) => (await until(() => within(host, selector)[0])).click();

/** Waits for what happens only in sight. */
async function untilSeen<T>(selector: string, condition: () => T | undefined): Promise<T> {
  let scrolledAt = -Infinity;
  return until(() => {
    // Again and again, as what is above may still grow; but not so often that nothing is ever seen.
    if (performance.now() - scrolledAt > 400) {
      scrolledAt = performance.now();
      find(selector)?.scrollIntoView({ block: 'center' });
    }
    return condition();
    // Drawing shares the processor with software WebGPU of other tests.
  }, 40_000);
}

async function mountComparison(options: FakeOptions = {}) {
  const mounted = await mount(options);
  const add = await until(() => findAll('.insert.last button').find((b) => textOf(b).includes('Comparison')));
  add.click();
  const cell = await until(() => find('lab-comparison'));
  await untilSeen('lab-comparison', () => find('lab-seed-panel'));
  await untilSeen('lab-seed-panel', () => within('lab-seed-panel', '.drawing svg')[0]);
  return { ...mounted, cell };
}

/** What an anchor would have saved: name and content. */
async function saved(act: () => Promise<void>): Promise<{ name: string; blob: Blob }> {
  const create = URL.createObjectURL;
  const press = HTMLAnchorElement.prototype.click;
  const blobs = new Map<string, Blob>();
  let file: { name: string; blob: Blob } | undefined;
  URL.createObjectURL = (blob: Blob) => {
    const url = create(blob);
    blobs.set(url, blob);
    return url;
  };
  HTMLAnchorElement.prototype.click = function () {
    file = { name: this.download, blob: blobs.get(this.href)! };
  };
  try {
    await act();
    return await until(() => file);
  } finally {
    URL.createObjectURL = create;
    HTMLAnchorElement.prototype.click = press;
  }
}

test('shows the table with intervals, the paper beside it, and a verdict for each claim', async () => {
  const { cell } = await mountComparison();
  const table = find('lab-arm-table')!;
  const rows = [...table.shadowRoot!.querySelectorAll('tbody tr')].map((row) => textOf(row));
  expect(rows).toHaveLength(5);
  // Base has the same success with every seed but for rounding; last-only has three seeds and only one setup.
  expect(rows[0]).toMatch(/^Base .*14\.\d ± 0\.\d/);
  expect(rows[4]).toMatch(/n 3 · · ·$/);
  expect(textOf(find('lab-paper-table'))).toContain('66.8');
  const verdicts = findAll('.setup').map((row) => [
    row.dataset.claim,
    row.dataset.setup,
    textOf(row.querySelector('.verdict')!),
  ]);
  expect(verdicts).toEqual([
    ['full-over-masked', 'terminal-small', 'reproduced'],
    ['full-over-masked', 'code-small', 'undecided'],
    ['full-over-uncorrected', 'terminal-small', 'not reproduced no difference'],
    ['full-over-uncorrected', 'code-small', 'not reproduced no difference'],
    ['longer-summaries', 'terminal-small', 'yes'],
    ['longer-summaries', 'code-small', 'yes'],
  ]);
  expect(textOf(find('lab-provenance'))).toContain('Uncorrected in Code, small policy: seed 6');
  expect((await axe.run(cell)).violations).toEqual([]);
});

test('draws every seed, and whatever else is chosen', async () => {
  await mountComparison();
  const panels = () => findAll('lab-seed-panel').map((panel) => textOf(panel.shadowRoot!.querySelector('h4')!));
  expect(panels().map((title) => title.split(' Paying')[0])).toHaveLength(3);
  const strokes = find('lab-seed-panel')!.shadowRoot!.querySelectorAll('[aria-label="line"]');
  // Seeds, reference and mean.
  expect(strokes[0]!.querySelectorAll('path')).toHaveLength(6);
  const box = await until(() =>
    within('lab-seed-figure', 'input').find((input) => textOf(input.parentElement!) === 'Last segment only'),
  );
  box.click();
  await until(() => panels().length === 4);
  const select = within('lab-seed-figure', 'wa-select')[0] as HTMLElement & { value: string };
  select.value = 'byCompactions';
  select.dispatchEvent(new Event('change'));
  const drawing = await until(() =>
    within('lab-seed-panel', '.drawing').find((d) => d.ariaLabel?.includes('3 compactions required')),
  );
  expect(drawing.ariaLabel).toContain('mean of 6 seeds');
});

test('files: every cell a line, the bundle, and figures that stand alone', async () => {
  await mountComparison();
  const csv = await saved(() => click('[data-export=csv]'));
  expect(csv.name).toBe('sample.csv');
  const [head, ...lines] = (await csv.blob.text()).trimEnd().split('\n');
  expect(lines).toHaveLength(fakeResults.cells.length);
  const at = (line: string, column: string) => line.split(',')[head!.split(',').indexOf(column)];
  for (const [i, cell] of fakeResults.cells.entries()) {
    expect([at(lines[i]!, 'setup'), at(lines[i]!, 'arm'), at(lines[i]!, 'seed')]).toEqual([
      cell.setup,
      cell.arm,
      String(cell.seed),
    ]);
    expect(Number(at(lines[i]!, 'comp.success'))).toBe(cell.evaluation.comp.success);
    expect(Number(at(lines[i]!, 'long.solved.3'))).toBe(cell.evaluation.long.byCompactions[3]!.solved);
  }
  const json = await saved(() => click('[data-export=json]'));
  expect(JSON.parse(await json.blob.text())).toEqual(JSON.parse(JSON.stringify(fakeResults)));
  const svg = await saved(() => press('lab-seed-figure', '[data-export=svg]'));
  const text = await svg.blob.text();
  const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
  expect(parsed.querySelector('parsererror')).toBeNull();
  expect(text).not.toContain('var(--');
  expect(parsed.documentElement.querySelectorAll('svg')).toHaveLength(3);
  const png = await saved(() => press('lab-claim-list', '[data-export=png]'));
  const { width, height } = await createImageBitmap(png.blob);
  expect(Math.min(width, height)).toBeGreaterThan(300);
});

test.each([360, 390])('a phone of %i px: one setup at a time, nothing wider than the page', async (width) => {
  await page.viewport(width, 700);
  const { cell } = await mountComparison();
  const { scrollWidth, clientWidth } = document.documentElement;
  expect(scrollWidth).toBeLessThanOrEqual(clientWidth);
  for (const part of cell.shadowRoot!.querySelectorAll<HTMLElement>('.frame > *'))
    expect(part.scrollWidth, part.localName).toBeLessThanOrEqual(width);
  const shown = () =>
    within('lab-arm-table', 'thead .group')
      .filter((th) => th.offsetParent !== null)
      .map((th) => textOf(th));
  expect(shown()).toEqual(['Terminal, small policy']);
  const select = within('lab-arm-table', 'wa-select')[0] as HTMLElement & { value: string };
  select.value = 'code-small';
  select.dispatchEvent(new Event('change'));
  await until(() => shown()[0] === 'Code, small policy');
});

test('results that are missing or damaged are named, and can be asked for again', async () => {
  const { app } = await mount();
  let text = '{"version": 2}';
  app.services = { ...app.services!, fetchResults: async () => text };
  const add = await until(() => findAll('.insert.last button').find((b) => textOf(b).includes('Comparison')));
  add.click();
  await untilSeen('lab-comparison', () => within('lab-comparison', 'lab-error')[0]);
  expect(textOf(within('lab-comparison', 'lab-error')[0])).toContain('results/paper-table.json');
  expect(textOf(within('lab-comparison', 'lab-error')[0])).toContain('Bad results');
  text = JSON.stringify(fakeResults);
  await click('[data-again]');
  await until(() => find('lab-arm-table'));
});

test('an arm that is run here is laid over the recorded seeds and judged by their prediction interval', async () => {
  const { trainer, cell } = await mountComparison();
  await click('[data-cells=one]');
  await until(() => textOf(find('lab-rerun')).includes('iteration 3 of 12, update'));
  const result = await until(() => within('lab-rerun', 'tbody tr')[0]);
  expect(trainer.calls).toContain('cell terminal-small full 7');
  expect(textOf(result)).toMatch(/^CompactionRL in Terminal, small policy ?, seed 7 .*inside .* inside/);
  await untilSeen('lab-seed-panel', () =>
    within('lab-seed-panel', '.drawing').find((d) => d.ariaLabel?.includes('your run')),
  );
  expect((await axe.run(cell)).violations).toEqual([]);
});

test('a run that lies far off is said to', async () => {
  await mountComparison({ cellShift: -0.3 });
  await click('[data-cells=one]');
  const result = await until(() => within('lab-rerun', 'tbody tr')[0]);
  expect(textOf(result)).toContain('outside');
});

test('the whole experiment: pauses between cells, goes on, stops, and leaves out what is there', async () => {
  const { trainer } = await mountComparison({ benchMs: 80 });
  const cells = () => trainer.calls.filter((call) => call.startsWith('cell '));
  await click('[data-cells=all]');
  await click('[data-cells=pause]');
  await click('[data-cells=resume]');
  await until(() => cells().length >= 3);
  // Seed by seed, and in it what other arms may need before what needs it.
  expect(cells().slice(0, 2)).toEqual(['cell terminal-small full 1', 'cell terminal-small masked 1']);
  await click('[data-cells=stop]');
  await until(() => !find('[data-cells=stop]'));
  const before = cells().length;
  expect(trainer.cells).toHaveLength(before - 1);
  await click('[data-cells=all]');
  await until(() => cells().length === before + 1);
  expect(cells().at(-1)).toBe(cells().at(-2));
  await click('[data-cells=stop]');
});

test('a comparison that shows other results ends what it computes; one that moves does not', async () => {
  const { trainer, cell } = await mountComparison({ benchMs: 3000 });
  const cancelled = () => trainer.calls.filter((call) => call === 'cancelCell').length;
  await click('[data-cells=all]');
  await until(() => trainer.calls.find((call) => call.startsWith('cell ')));
  const parent = cell.parentNode!;
  parent.insertBefore(cell, cell.nextSibling);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(cancelled()).toBe(0);
  const comparison = cell as LabComparison;
  comparison.cell = { ...comparison.cell, results: 'other' };
  await until(() => (cancelled() === 1 ? true : undefined));
});

test('a comparison that is taken off the page ends what it computes', async () => {
  const { trainer, cell } = await mountComparison({ benchMs: 3000 });
  await click('[data-cells=all]');
  await until(() => trainer.calls.find((call) => call.startsWith('cell ')));
  cell.remove();
  await until(() => trainer.calls.find((call) => call === 'cancelCell'));
});

test('not while a run occupies the adapter', async () => {
  await mountComparison({ iterationMs: 60_000 });
  await click('[data-command=run]');
  await until(() => textOf(find('lab-rerun')).includes('Not while a run occupies the adapter'));
  expect(find('[data-cells=one]')?.hasAttribute('disabled')).toBe(true);
});

test('My runs offers the notebook of results', async () => {
  await mount();
  await click('.library');
  const open = await until(() =>
    findAll('lab-library')
      .flatMap((drawer) => findAll('wa-button', drawer.shadowRoot!))
      .find((b) => b.textContent?.replace(/\s+/g, ' ').trim() === 'Open What reproduces'),
  );
  open.click();
  await until(() => textOf(find('h1')) === 'What reproduces');
  expect(find('lab-comparison')).toBeDefined();
});
