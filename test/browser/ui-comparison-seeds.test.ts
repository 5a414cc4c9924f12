/** A comparison whose setups differ in seeds and warm starts: what it says of each, and which seeds it offers to run. */
import { afterEach, expect, test } from 'vitest';
import '../../src/ui/theme';
import '../../src/ui/components';
import type { LabArmTable } from '../../src/ui/comparison/arm-table';
import '../../src/ui/comparison/arm-table';
import { CellQueue } from '../../src/ui/comparison/cell-queue';
import { Comparison } from '../../src/ui/comparison/comparison';
import type { LabRerun } from '../../src/ui/comparison/rerun';
import '../../src/ui/comparison/rerun';
import type { LabSeedFigure } from '../../src/ui/comparison/seed-figure';
import '../../src/ui/comparison/seed-figure';
import { TrainerSession } from '../../src/ui/trainer-session';
import { fakeExperiment, fakeResults } from './ui/fake-results';
import { FakeTrainer } from './ui/fake-trainer';
import { textOf, until } from './ui/mount';

afterEach(() => document.body.replaceChildren());

// Six seeds over three warm starts in the first setup; two seeds, and so two warm starts, in the second.
const [large, small] = fakeExperiment.setups;
const experiment = { ...fakeExperiment, setups: [large!, { ...small!, seeds: 2 }] };
const comparison = new Comparison({
  ...fakeResults,
  experiment,
  cells: fakeResults.cells.filter(({ setup, seed }) => setup !== small!.id || seed <= 2),
});

type Control = HTMLElement & { value: string };
const part = <T extends HTMLElement = HTMLElement>(host: HTMLElement, selector: string) =>
  until(() => host.shadowRoot!.querySelector<T>(selector) ?? undefined);
async function choose(host: HTMLElement, selector: string, value: string): Promise<void> {
  const control = await part<Control>(host, selector);
  control.value = value;
  control.dispatchEvent(new Event('change'));
}

test('no seed is offered or run whose warm start the setup does not have', async () => {
  const trainer = new FakeTrainer({ benchMs: 1 });
  const rerun = document.createElement('lab-rerun') as LabRerun;
  rerun.comparison = comparison;
  rerun.queue = new CellQueue(experiment, () => trainer);
  rerun.session = new TrainerSession(() => trainer);
  document.body.append(rerun);
  const seed = await part<Control>(rerun, 'wa-number-input');
  const run = await part<HTMLElement & { disabled: boolean }>(rerun, '[data-cells=one]');
  const alert = () => rerun.shadowRoot!.querySelector<HTMLElement>('[role=alert]');
  expect(seed.value).toBe('7');
  await choose(rerun, 'wa-select[label=Setup]', small!.id);
  // Seed 3 begins from warm start 3.
  await until(() => (seed.value === '4' ? true : undefined));
  await choose(rerun, 'wa-number-input', '6');
  const refusal = await until(() => alert() ?? undefined);
  expect(textOf(refusal)).toContain('warm start 1 to 2 of 3, e.g. 4');
  expect(run.disabled).toBe(true);
  run.click();
  await choose(rerun, 'wa-number-input', '5');
  await until(() => (alert() === null && !run.disabled ? true : undefined));
  run.click();
  await until(() => trainer.calls.find((call) => call.startsWith('cell ')));
  expect(trainer.calls.filter((call) => call.startsWith('cell '))).toEqual([`cell ${small!.id} full 5`]);
  // Where all warm starts are there, seed 6 is a seed as any other.
  await choose(rerun, 'wa-select[label=Setup]', large!.id);
  await choose(rerun, 'wa-number-input', '6');
  await rerun.updateComplete;
  expect(alert()).toBeNull();
});

test('table and curves say seeds and warm starts of each setup', async () => {
  const table = document.createElement('lab-arm-table') as LabArmTable;
  table.comparison = comparison;
  const figure = document.createElement('lab-seed-figure') as LabSeedFigure;
  figure.comparison = comparison;
  document.body.append(table, figure);
  const note = textOf(await part(table, '.note'));
  for (const number of ['6 seeds', '2 seeds']) expect(note).toContain(number);
  expect(note).toMatch(/warm starts, 3 in .*; 2 in /);
  const below = () => [...figure.shadowRoot!.querySelectorAll<HTMLElement>('.note')].map(textOf).join(' ');
  await until(() => /warm starts, 3\b/.test(below()));
  await choose(figure, 'wa-select[label=Setup]', small!.id);
  await until(() => /warm starts, 2\b/.test(below()));
});
