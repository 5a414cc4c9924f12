import axe from 'axe-core';
import { afterEach, describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/core/config/config';
import { presets } from '../../src/run/presets/presets';
import { renderMarkdown } from '../../src/ui/markdown';
import { chooseTheme } from '../../src/ui/theme';
import { click, find, findAll, mount, textOf, until } from './ui/mount';

afterEach(() => {
  document.body.replaceChildren();
});

/** Charts draw only near the viewport, and the page above them is still growing: keep them in view until one is drawn. */
const chartsDrawn = () =>
  until(() => {
    find('lab-charts')?.scrollIntoView();
    return findAll('.drawing svg').length >= 1;
  });

describe('an experiment', () => {
  test('runs, pauses, steps, resumes, stops; the curves follow', async () => {
    // Long enough that the run has not ended when the first chart has loaded, also on a busy machine.
    const { trainer } = await mount({ iterationMs: 200 });
    expect(trainer.calls).toEqual([]);
    expect(find('lab-charts')).toBe(undefined);
    await click('[data-command=run]');
    await chartsDrawn();
    await click('[data-command=pause]');
    await until(() => textOf(find('lab-run-bar')).includes('Paused'));
    const at = () => Number(/iteration (\d+) of/.exec(textOf(find('lab-run-bar')))?.[1]);
    const before = at();
    await click('[data-command=step]');
    await until(() => at() === before + 1);
    await click('[data-command=resume]');
    await until(() => textOf(find('lab-run-bar')).includes('Running'));
    await click('[data-command=stop]');
    await until(() => textOf(find('lab-run-bar')).includes('Stopped'));
    expect(trainer.calls).toEqual(['start', 'pause', 'step', 'resume', 'stop']);
  });

  test('shows one episode: the bar fills, the compaction folds, the terminal carries the text', async () => {
    await mount({ iterationMs: 60_000 });
    await click('[data-command=run]');
    const watch = await until(() => find('lab-watch'));
    const speed = await until(() => watch.shadowRoot?.querySelector('select'));
    speed.value = 'fast';
    speed.dispatchEvent(new Event('change'));
    // The fake plays its first episode with the first iteration.
    await click('[data-command=pause]');
    await click('[data-command=step]');
    await until(() => find('.strip.folding'));
    await until(() => findAll('.run.carried').length > 0);
    await until(() => textOf(find('lab-watch')).includes('compaction'));
    await until(() => {
      // xterm opens and draws only where it can be seen, and the page above is still growing.
      watch.scrollIntoView();
      return findAll('.xterm-rows').some((r) => /\$ (cat|echo) \w/.test(r.textContent ?? ''));
    });
    const transcript = watch.shadowRoot?.querySelector('ol')?.textContent ?? '';
    expect(transcript).toContain('cat lamp');
    expect(transcript).not.toContain('⟨');
  });

  test('a failure says what, where, expected, got and the fix; an alarm stays visible', async () => {
    await mount({ iterationMs: 40, failAt: 3, alarmAt: 2 });
    await click('[data-command=run]');
    const panel = await until(() => find('lab-error'));
    const text = textOf(panel);
    for (const part of [
      'device was lost',
      'iteration 3, update',
      'a device that stays',
      'reason: unknown',
      'Press Resume',
    ])
      expect(text).toContain(part);
    expect(textOf(find('.alarms'))).toContain('KL 0.31 passed its limit 0.2');
    await until(() => find('[data-command=resume]'));
  });

  test('after a reload an interrupted run of exactly this experiment is offered for resuming', async () => {
    const config = parseConfig(presets.quick.config);
    const { trainer } = await mount({ iterationMs: 10_000 }, (t) => {
      t.seed('other-seed', 'quick', config, 5, 'running', 2);
      t.seed('mine', 'quick', config, 23, 'running', 1);
    });
    await until(() => textOf(find('lab-run-bar')).includes(`Interrupted after iteration 23 of ${config.iterations}`));
    await until(() => find('lab-charts'));
    await click('[data-command=resume]');
    await until(() => trainer.calls.join() === 'resume');
  });

  test('a parameter that differs from the preset is marked and can be put back; a broken rule blocks Run', async () => {
    await mount();
    const field = (name: string) =>
      findAll('lab-parameter').find((p) => (p as HTMLElement & { name: string }).name === name)?.shadowRoot;
    const window = (await until(() =>
      field('window')?.querySelector('wa-number-input'),
    )) as unknown as HTMLInputElement;
    window.value = '30';
    window.dispatchEvent(new Event('change'));
    const error = await until(() => find('lab-error'));
    expect(textOf(error)).toContain('The window is too small for the reserve');
    expect((find('[data-command=run]') as HTMLButtonElement).disabled).toBe(true);
    expect(textOf(find('details.all summary'))).toContain('1 changed from the preset');
    field('window')?.querySelector<HTMLElement>('.reset')?.click();
    await until(() => !find('lab-error'));
    expect((find('[data-command=run]') as HTMLButtonElement).disabled).toBe(false);
  });
});

describe('what cannot run does not run', () => {
  const control = (name: string) =>
    findAll('lab-parameter').find((p) => (p as HTMLElement & { name: string }).name === name)?.shadowRoot;
  const numberIn = (root: ShadowRoot | null | undefined) =>
    root?.querySelector('wa-number-input') as unknown as HTMLInputElement | null | undefined;
  const type = (field: HTMLInputElement, text: string) => {
    field.value = text;
    field.dispatchEvent(new Event('change'));
  };
  const runButton = () => find('[data-command=run]') as HTMLButtonElement | undefined;
  const bar = () => textOf(find('lab-run-bar'));

  test.each([['5'], [''], ['1e9'], ['63.5']])(
    'window "%s": Run is off, says why, and goes on with a usable one',
    async (text) => {
      const { trainer } = await mount();
      const field = await until(() => numberIn(control('window')));
      await until(() => runButton()?.disabled === false);
      type(field, text);
      await until(() => runButton()?.disabled);
      await expect.poll(bar).toContain('Correct Window first. Expected a whole number from 24 to 1024');
      await until(() => textOf(find('lab-watch')).includes('no window'));
      // The way past the button is closed as well.
      find('lab-run-bar')?.dispatchEvent(new CustomEvent('command', { detail: 'run' }));
      type(field, '96');
      await until(() => runButton()?.disabled === false);
      await until(() => textOf(find('lab-watch')).includes('/ 96 tokens'));
      expect(bar()).not.toContain('Run is off');
      expect(trainer.calls).toEqual([]);
    },
  );

  test('a seed that is none, and back through another preset', async () => {
    await mount();
    const seed = await until(() => numberIn(find('lab-setup')?.shadowRoot));
    type(seed, '-1');
    await until(() => bar().includes('Correct Seed first'));
    expect(runButton()?.disabled).toBe(true);
    const preset = find('lab-setup')?.shadowRoot?.querySelector('wa-select') as unknown as HTMLInputElement;
    type(preset, 'smoke');
    await until(() => runButton()?.disabled === false);
    expect(seed.value).toBe('1');
  });

  test('a run that another tab trains is not offered for resuming; when that ends it is', async () => {
    const { trainer } = await mount({}, (t) => {
      t.seed('mine', 'quick', parseConfig(presets.quick.config), 23, 'running', 1);
      t.elsewhere('mine', true);
    });
    await until(() => bar().includes('Running in another tab'));
    expect(find('[data-command=resume]')).toBe(undefined);
    trainer.elsewhere('mine', false);
    await until(() => find('[data-command=resume]'));
  });
});

test('a pressed button says that it was heard, and a step ends in the same buttons', async () => {
  await mount({ iterationMs: 10_000, reactMs: 600 });
  const bar = () => textOf(find('lab-run-bar'));
  await click('[data-command=run]');
  await until(() => bar().includes('Running, iteration 1 of'));
  await click('[data-command=pause]');
  await until(() => bar().includes('Pausing…'));
  await until(() => bar().includes('Paused, iteration 1 of'));
  await click('[data-command=step]');
  await until(() => bar().includes('Stepping…'));
  expect(find('[data-command=pause]')).toBe(undefined);
  await until(() => bar().includes('Paused, iteration 2 of'));
  await click('[data-command=stop]');
  await until(() => bar().includes('Stopping…'));
  await until(() => bar().includes('Stopped after iteration 1 of'));
});

test('what the storage has to say is shown once and can be put away', async () => {
  const { trainer } = await mount();
  await until(() => find('[data-command=run]'));
  await until(() => {
    trainer.notice('store.outdated', 'A newer version of this page was opened');
    return findAll('lab-error').length === 1;
  });
  const panel = find('lab-error');
  expect(textOf(panel)).toContain('A newer version');
  panel?.dispatchEvent(new Event('dismiss'));
  await until(() => findAll('lab-error').length === 0);
});

describe('the notebook', () => {
  const tool = (cell: number, label: string) => find(`section.cell:nth-of-type(${cell}) button[aria-label="${label}"]`);

  test('a deleted cell comes back with Undo, and the draft is saved', async () => {
    const { shelf } = await mount();
    (await until(() => tool(1, 'Delete'))).click();
    await until(() => findAll('section.cell').length === 1);
    const undo = (await until(() => find('.undo button'))) as HTMLButtonElement;
    undo.click();
    await until(() => findAll('section.cell').length === 2);
    tool(1, 'Move down')?.click();
    await until(() => shelf.saved.size === 1 && [...shelf.saved.values()][0]?.cells[0]?.kind === 'experiment');
  });

  test('prose is edited in place and rendered with its formula', async () => {
    await mount();
    await until(() => find('.katex'));
    tool(1, 'Edit')?.click();
    const area = (await until(() => find('wa-textarea'))) as HTMLTextAreaElement;
    area.value = '# New\n\n$x^2$';
    area.dispatchEvent(new Event('input'));
    area.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
    await until(() => findAll('h1').some((h) => h.textContent === 'New'));
  });
});

describe('prose is harmless', () => {
  test.each([
    ['script', '<script>alert(1)</script>'],
    ['handler', '<img src=x onerror=alert(1)>'],
    ['inline html', 'a <b onclick="alert(1)">b</b>'],
    ['javascript link', '[x](javascript:alert(1))'],
    ['data link', '[x](data:text/html,<script>alert(1)</script>)'],
    ['encoded scheme', '[x](&#106;avascript:alert(1))'],
    ['tab in scheme', '[x](java\tscript:alert(1))'],
    ['remote image', '![x](https://example.com/x.png)'],
    ['formula link', '$\\href{javascript:alert(1)}{x}$'],
    ['formula html', '$\\htmlClass{x}{y}$ $\\includegraphics{https://example.com/x.png}$'],
    ['svg', '<svg><a href="javascript:alert(1)"><text>x</text></a></svg>'],
    ['style', '<style>*{display:none}</style>'],
  ])('%s', async (_, markdown) => {
    const host = document.createElement('div');
    host.append(await renderMarkdown(markdown));
    expect(host.querySelector('script, img, style, iframe, form, input, object')).toBe(null);
    for (const element of host.querySelectorAll('*'))
      for (const { name, value } of element.attributes) {
        expect(name).not.toMatch(/^on/);
        if (name === 'href' || name === 'src' || name === 'xlink:href')
          expect(value).toMatch(/^(https?:|mailto:|#|\/|\.)/);
      }
  });

  test('and still says what it should: emphasis, links, lists, formulas over two lines', async () => {
    const host = document.createElement('div');
    host.append(await renderMarkdown('*a* [b](https://example.com)\n\n- c $x \\le\ny$ and $5\n\n$$z$$'));
    expect(host.querySelector('em')?.textContent).toBe('a');
    expect(host.querySelector('a')?.getAttribute('rel')).toContain('noopener');
    expect(host.querySelectorAll('.katex')).toHaveLength(2);
    expect(host.querySelector('.katex-display')).not.toBe(null);
    expect(host.textContent).toContain('and $5');
  });
});

test('axe finds nothing serious while a run is shown, in both themes', async () => {
  await mount({ iterationMs: 60, alarmAt: 2 });
  await click('[data-command=run]');
  await chartsDrawn();
  await click('[data-command=pause]');
  await until(() => textOf(find('lab-run-bar')).includes('Paused'));
  for (const theme of ['light', 'dark'] as const) {
    chooseTheme(theme);
    // Colours fade into each other for 150 ms.
    await new Promise((resolve) => setTimeout(resolve, 400));
    const { violations } = await axe.run(document.querySelector('lab-app') as Element);
    const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
    expect(serious.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join('; ')}`)).toEqual(
      [],
    );
  }
  chooseTheme('auto');
});
