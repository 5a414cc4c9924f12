import { expect, test } from 'vitest';
import { heldRuns, holdRun } from '../../src/run/worker/run-lock';

test('a run is held by one tab at a time, and free again when it lets go', async () => {
  expect(await heldRuns()).not.toContain('lock-test');
  const release = await holdRun('lock-test');
  expect(await heldRuns()).toContain('lock-test');
  await expect(holdRun('lock-test')).rejects.toMatchObject({ parts: { code: 'run.elsewhere', where: 'lock-test' } });
  const other = await holdRun('lock-test-2');
  await release();
  await release();
  expect([...(await heldRuns())].filter((id) => id.startsWith('lock-test'))).toEqual(['lock-test-2']);
  await (await holdRun('lock-test'))();
  await other();
});

test('a worker that ends lets go of its run', async () => {
  const source = `navigator.locks.request('run:lock-worker', () => { postMessage(1); return new Promise(() => {}); });`;
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
  await new Promise((resolve) => worker.addEventListener('message', resolve, { once: true }));
  await expect(holdRun('lock-worker')).rejects.toMatchObject({ parts: { code: 'run.elsewhere' } });
  worker.terminate();
  await expect.poll(() => heldRuns()).not.toContain('lock-worker');
});
