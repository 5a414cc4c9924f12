/** The player of recorded episodes: plays by itself, pauses, steps, marks facts in words, and says when it cannot load. */
import axe from 'axe-core';
import { afterEach, expect, test, vi } from 'vitest';
import type { EpisodeCell } from '../../src/notebook/cells';
import type { LabEpisode } from '../../src/ui/cells/episode';
import { TrainerSession } from '../../src/ui/trainer-session';
import { click, fakeEpisodes, find, findAll, mount, textOf, until } from './ui/mount';

afterEach(() => {
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

const cell: EpisodeCell = { kind: 'episode', recording: '' };

async function mountEpisode(fetchEpisodes = fakeEpisodes): Promise<LabEpisode> {
  const { app, trainer } = await mount();
  const element = document.createElement('lab-episode') as LabEpisode;
  element.services = { ...app.services!, fetchEpisodes };
  element.session = new TrainerSession(() => trainer);
  element.cell = cell;
  document.body.prepend(element);
  element.scrollIntoView();
  return element;
}
const pane = (policy: string) => find(`lab-episode-pane[data-policy=${policy}]`);
const position = () => Number.parseInt(textOf(find('.where')), 10);

test('plays by itself within two seconds; pause holds it, step moves it, replay begins again', async () => {
  await mountEpisode();
  await until(() => find('[data-play=pause]'), 2000);
  await until(() => textOf(pane('base')).includes('cat lamp'), 5000);
  await click('[data-play=pause]');
  await until(() => find('[data-play=play]'));
  const held = position();
  const seen = textOf(pane('base'));
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(textOf(pane('base'))).toBe(seen);
  await click('[data-play=step]');
  await until(() => position() === held + 1);
  await click('[data-play=replay]');
  await until(() => find('[data-play=pause]') && position() === 0);
});

test('marks what was lost and what was kept, also in words, and ends with each outcome', async () => {
  const element = await mountEpisode();
  await until(() => find('[data-play=pause]'));
  await click('[data-play=pause]');
  for (let i = 0; i < 12 && position() < 10; i++) {
    const before = position();
    await click('[data-play=step]');
    await until(() => position() > before);
  }
  await until(() => textOf(pane('base')).includes('Failed') && textOf(pane('trained')).includes('Solved'));
  expect(textOf(pane('base'))).toContain('Lost : code teal');
  expect(textOf(pane('trained'))).toContain('Kept : code teal');
  expect(textOf(pane('trained'))).toContain('Solved');
  expect(pane('base')?.shadowRoot?.querySelector('.terminal mark.lost')?.textContent).toBe('teal');
  expect(textOf(element)).toContain('loses a fact');
  const status = find('lab-episode-pair')?.shadowRoot?.querySelector('[role=status]');
  expect(textOf(status ?? undefined)).toBe('Before training: failed. After training: solved.');
  expect((await axe.run(element)).violations).toEqual([]);
});

test('another task is another recording', async () => {
  const element = await mountEpisode();
  await until(() => find('[data-task=two]'));
  expect(find('[data-task=one]')?.getAttribute('aria-pressed')).toBe('true');
  await click('[data-task=two]');
  await until(() => find('[data-task=two]')?.getAttribute('aria-pressed') === 'true');
  await until(() => find('lab-episode-pair'));
  await until(
    () => (find('lab-episode-pair') as unknown as { recording: { title: string } }).recording.title === 'two.json',
  );
  expect(element.cell).toEqual(cell);
});

test('a failing load says where and is tried again', async () => {
  let broken = true;
  await mountEpisode(async (file) => (broken ? '{"version": 9' : fakeEpisodes(file)));
  await until(() => textOf(find('lab-episode lab-error') ?? find('lab-error')).includes('episodes/index.json'));
  broken = false;
  await click('[data-retry]');
  await until(() => find('lab-episode-pair'));
});

test('where motion is not wanted it stands still and steps through the key frames', async () => {
  const real = window.matchMedia.bind(window);
  // The player asks once, when its module is loaded; the query object itself is what can be changed.
  const query = real('(prefers-reduced-motion: reduce)');
  vi.spyOn(Object.getPrototypeOf(query) as MediaQueryList, 'matches', 'get').mockReturnValue(true);
  await mountEpisode();
  await until(() => textOf(find('.where')).startsWith('Key frame 3 of 3'));
  expect(find('[data-play=pause]')).toBe(undefined);
  expect(textOf(pane('base'))).toContain('Failed');
  await click('[data-play=step]');
  await until(() => textOf(find('.where')).includes('before the fold'));
  expect(textOf(pane('base'))).toContain('No summary yet');
  await click('[data-play=step]');
  await until(() => textOf(pane('base')).includes('Lost : code'));
});

test('its button starts the experiment of the notebook', async () => {
  const { trainer } = await mount();
  const add = await until(() => findAll('.insert button').find((b) => textOf(b).includes('Episode')));
  add.click();
  const button = await until(() => find('[data-train]'));
  expect(trainer.calls).toEqual([]);
  button.click();
  await until(() => trainer.calls.includes('start'));
});
