import { expect, test } from 'vitest';
import { Control, Stopped } from '../../src/run/trainer/control';

/** Lets everything that can run now run. */
const settle = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

/** A worker that counts phases until it is stopped. */
function worker(control: Control) {
  const state = { phases: 0, ended: '' };
  const run = async () => {
    for (;;) {
      await control.gate();
      state.phases++;
      await settle();
      await control.phaseEnd();
    }
  };
  run().catch((thrown) => {
    state.ended = thrown instanceof Stopped ? 'stopped' : String(thrown);
  });
  return state;
}

test('pauses at a gate, steps one phase at a time, resumes, stops', async () => {
  const modes: string[] = [];
  const control = new Control((mode) => modes.push(mode));
  control.pause();
  const state = worker(control);
  await settle();
  expect(state.phases).toBe(0);
  expect(modes).toEqual(['paused']);
  control.step();
  for (let i = 0; i < 5; i++) await settle();
  expect(state.phases).toBe(1);
  control.step();
  for (let i = 0; i < 5; i++) await settle();
  expect(state.phases).toBe(2);
  control.resume();
  for (let i = 0; i < 5; i++) await settle();
  expect(state.phases).toBeGreaterThan(2);
  control.stop();
  for (let i = 0; i < 3; i++) await settle();
  expect(state.ended).toBe('stopped');
});

test('stop wakes a paused run, and nothing wakes it after that', async () => {
  const control = new Control();
  control.pause();
  const state = worker(control);
  await settle();
  control.stop();
  control.resume();
  control.step();
  await settle();
  expect(state).toEqual({ phases: 0, ended: 'stopped' });
});
