/** One cell's fault is shown in that cell; the rest of the notebook lives. */
import { afterEach, expect, test, vi } from 'vitest';
import type { Cell } from '../../src/notebook/cells';
import { encodeDocument } from '../../src/notebook/codec';
import { LabProse } from '../../src/ui/cells/prose';
import { cellViews } from '../../src/ui/cells/registry';
import { click, find, findAll, mount, textOf, until } from './ui/mount';

afterEach(() => {
  vi.restoreAllMocks();
  document.body.replaceChildren();
  history.replaceState(null, '', location.pathname + location.search);
});

/** Opens a notebook from a link, as a reader does; an experiment stands last. */
async function open(...cells: Cell[]) {
  const document = {
    version: 1,
    title: 'Faults',
    cells: [...cells, { kind: 'experiment', preset: 'quick', seed: 1, config: {} }],
  } as const;
  history.replaceState(null, '', `#${await encodeDocument(document)}`);
  return mount();
}
const prose = (markdown: string): Cell => ({ kind: 'prose', markdown });
const faults = () => findAll('.cell').filter((cell) => cell.querySelector('.fault'));

for (const [what, text] of [
  ['4,000 quotes', `${'> '.repeat(4000)}x`],
  ['1,500 lists', `${'- '.repeat(1500)}x`],
  ['3,000 emphases', `${'*a _b '.repeat(1500)}x${'_ *'.repeat(1500)}`],
] as const)
  test(`${what} inside each other: the cell says so, the others live`, async () => {
    await open(prose('harmless before'), prose(text), prose('harmless after'));
    const panel = await until(() => find('.fault lab-error'));
    await until(() => textOf(panel).includes('prose.too-deep'));
    for (const part of ['nests too deeply', 'Text, cell 2', 'at most 32', 'Edit the text'])
      expect(textOf(panel)).toContain(part);
    expect(find('.fault pre')?.textContent).toBe(text);
    expect(faults().map(({ ariaLabel }) => ariaLabel)).toEqual(['Text, cell 2 of 4']);
    await until(() => findAll('lab-prose').map(textOf).join('|') === 'harmless before|harmless after');
    await until(() => find('[data-command=run]'));
  });

const macros = `\\def\\a{${'{'.repeat(35)}\\a${'}'.repeat(35)}}\\a`;
for (const [what, formula] of [
  ['1,904 groups', `${'{'.repeat(1904)}x${'}'.repeat(1904)}`],
  ['4,000 unclosed groups', '{'.repeat(4000)],
  ['990 exponents', `${'x^{'.repeat(990)}y${'}'.repeat(990)}`],
  ['a macro that makes groups', macros],
] as const)
  test(`a formula of ${what}: it alone says so, the text around it is drawn`, async () => {
    await open(prose(`Before $\\lambda^7$.\n\n$$${formula}$$\n\nAfter.`));
    const fault = await until(() => find('.formula-fault'));
    expect(textOf(fault)).toMatch(/^This formula is not drawn: .*nests? too deeply/);
    const text = textOf(find('lab-prose'));
    expect(text).toMatch(/^Before .*After\.$/);
    expect(findAll('.katex')).toHaveLength(1);
    expect(faults()).toEqual([]);
  });

test('40 groups inside each other are drawn', async () => {
  await open(prose(`$$${'{'.repeat(40)}x${'}'.repeat(40)}$$`));
  await until(() => find('.katex'));
  expect(find('.formula-fault')).toBeUndefined();
});

test('20 quotes inside each other are drawn', async () => {
  await open(prose(`${'> '.repeat(20)}deep enough`));
  await until(() => textOf(find('lab-prose')).includes('deep enough'));
  expect(findAll('blockquote')).toHaveLength(20);
});

test('a cell too deep can be edited, and is drawn when it is mended', async () => {
  const { app } = await open(prose('> '.repeat(4000)));
  await until(() => find('.fault'));
  await click('button[aria-label=Edit]');
  const area = (await until(() => find('wa-textarea'))) as HTMLTextAreaElement;
  expect(area.value).toBe('> '.repeat(4000));
  area.value = 'mended';
  area.dispatchEvent(new Event('input'));
  await click('button[aria-label=Done]');
  await until(() => textOf(find('lab-prose')).includes('mended'));
  expect(faults()).toEqual([]);
  expect(app.isConnected).toBe(true);
});

test('a view that throws before, while or after it draws is shown in its place; another try draws it', async () => {
  const real = cellViews.prose.render;
  const proto = LabProse.prototype as unknown as {
    render(this: LabProse): unknown;
    updated(this: LabProse, c: Map<PropertyKey, unknown>): void;
  };
  const { render, updated } = proto;
  const boom = (cell: Cell, when: string) => {
    if (cell.kind === 'prose' && cell.markdown === when) throw new Error(`thrown ${when}`);
  };
  const spies = [
    vi.spyOn(cellViews.prose, 'render').mockImplementation((cell, context) => {
      boom(cell, 'before');
      return real(cell, context);
    }),
    vi.spyOn(proto, 'render').mockImplementation(function (this: LabProse) {
      boom(this.cell, 'while');
      return render.call(this);
    }),
    vi.spyOn(proto, 'updated').mockImplementation(function (this: LabProse, changed) {
      boom(this.cell, 'after');
      updated.call(this, changed);
    }),
  ];
  await open(prose('before'), prose('while'), prose('after'), prose('never'));
  await until(() => faults().length === 3);
  for (const [i, cell] of faults().entries()) {
    const text = textOf(cell.querySelector('lab-error') ?? undefined);
    for (const part of [
      'could not be drawn',
      `Text, cell ${i + 1}`,
      `thrown ${['before', 'while', 'after'][i]}`,
      'cell.draw',
    ])
      expect(text).toContain(part);
  }
  await until(() => textOf(find('lab-prose')) === 'never');
  for (const spy of spies) spy.mockRestore();
  for (const button of findAll('[data-redraw]')) button.click();
  await until(() => faults().length === 0);
  await until(() => findAll('lab-prose').map(textOf).join() === 'before,while,after,never');
});
