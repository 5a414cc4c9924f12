/** Before Run: the recorded run of exactly the settings shown, or what will be seen. */
import { afterEach, expect, test } from 'vitest';
import { parseConfig } from '../../src/core/config/config';
import { presets } from '../../src/run/presets/presets';
import { click, fakeFetch, find, findAll, mount, textOf, until } from './ui/mount';

const asked: string[] = [];
/** The recorded runs are the files of the site itself. */
const fetchResults = async (name: string): Promise<string> => {
  asked.push(name);
  const response = await fetch(`/results/${name}.json`);
  return response.ok ? response.text() : fakeFetch(name);
};

afterEach(() => {
  document.body.replaceChildren();
  asked.length = 0;
});

const grey = () => findAll('.drawing').flatMap((d) => [...d.querySelectorAll('[stroke="var(--recorded)"]')]);
const greyDrawn = () =>
  until(() => {
    find('lab-charts')?.scrollIntoView();
    return grey().length > 0;
  });
const setSeed = (seed: string) => {
  const field = find('lab-setup')?.shadowRoot?.querySelector('.seed wa-number-input') as HTMLInputElement;
  field.value = seed;
  field.dispatchEvent(new Event('change'));
};

test('the recorded curve is there before Run, labelled; another seed without one has no curve, a third has its own', async () => {
  const { trainer } = await mount({}, undefined, { fetchResults });
  await greyDrawn();
  expect(trainer.calls).toEqual([]);
  expect(asked).toEqual(['runs', 'quick-seed-1']);
  const label = textOf(find('p.recorded')).replaceAll(' ,', ',');
  expect(label).toMatch(
    /with seed 1, recorded on .*2026.*, mesa software llvmpipe.*, build 0\.1\.0\+0e1d77b699, in 34/,
  );
  expect(textOf(find('lab-chart'))).toContain('held out, compaction on 96');

  setSeed('4');
  await until(() => !find('lab-charts'));
  const expectation = await until(() => find('lab-expectation'));
  expect(textOf(expectation)).toMatch(
    /No run of exactly these .*recorded run of this preset, 50 iterations, took 34.*llvmpipe/,
  );
  expect(grey()).toEqual([]);

  setSeed('2');
  await greyDrawn();
  expect(textOf(find('p.recorded'))).toContain('with seed 2');
  expect(asked).toEqual(['runs', 'quick-seed-1', 'quick-seed-2']);
});

test('another parameter has no curve', async () => {
  await mount({}, undefined, { fetchResults });
  await greyDrawn();
  const window = findAll('lab-parameter').find((p) => (p as HTMLElement & { name: string }).name === 'episodes');
  const field = window?.shadowRoot?.querySelector('wa-number-input') as unknown as HTMLInputElement;
  field.value = '64';
  field.dispatchEvent(new Event('change'));
  await until(() => !find('lab-charts') && find('lab-expectation'));
});

test("one's own run is drawn over it, and the grey stays", async () => {
  await mount({ iterationMs: 60 }, undefined, { fetchResults });
  await greyDrawn();
  await click('[data-command=run]');
  await until(() => {
    find('lab-charts')?.scrollIntoView();
    return findAll('.drawing').some((d) => d.querySelector('[stroke="var(--ink)"]'));
  });
  expect(grey().length).toBeGreaterThan(0);
  await click('[data-command=stop]');
});

test("the time here is told by a comparable run of one's own", async () => {
  const config = parseConfig(presets.quick.config);
  await mount({}, (t) => t.seed('mine', 'quick', config, 20, 'finished', 7), { fetchResults });
  await until(() => /Here it takes about .* your own run on fake/.test(textOf(find('lab-expectation'))));
});

test('a file that cannot be used is told quietly, and Retry asks again', async () => {
  let broken = true;
  await mount({}, undefined, {
    fetchResults: async (name) => (broken && name === 'quick-seed-1' ? '{"version":1}' : fetchResults(name)),
  });
  const retry = await until(() => find('[data-retry-recorded]'));
  expect(find('lab-charts')).toBe(undefined);
  expect(find('lab-error')).toBe(undefined);
  broken = false;
  retry.click();
  await greyDrawn();
  expect(find('[data-retry-recorded]')).toBe(undefined);
});
