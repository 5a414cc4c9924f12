/** Stopping a cell: whatever it is doing, it gives nothing, is no error, and does not come back into the queue. */
import { expect, test, vi } from 'vitest';
import { LabError } from '../../src/core/errors';
import { cellsOf } from '../../src/core/experiment/cells';
import type { TrainerApi } from '../../src/core/protocol/protocol';
import { createTerminalPool } from '../../src/env/pool';
import { CellRunner } from '../../src/run/cell-runner/cell-runner';
import { CellQueue } from '../../src/ui/comparison/cell-queue';
import { sampleExperiment, sampleResult } from './experiment-samples';

const random = { ...sampleExperiment, shared: { ...sampleExperiment.shared, base: 'random' as const } };
const [cell] = await cellsOf(random, { seeds: [1, 1], setups: ['small'], arms: ['full'] });

/** A runner whose kernels are being measured until somebody stops it. */
const measuringRunner = (controller: AbortController, fault: Error) =>
  new CellRunner({
    context: null,
    pool: createTerminalPool({ workers: 0 }),
    base: async () => null,
    policies: { load: async () => null, save: async () => {} },
    kernels: async () => {
      controller.abort();
      throw fault;
    },
    command: () => '',
  });

test('a cell that is stopped while its kernels are measured gives nothing', async () => {
  const controller = new AbortController();
  const stopped = measuringRunner(controller, new DOMException('stopped', 'AbortError'));
  expect(await stopped.run(cell!, { signal: controller.signal })).toBeNull();
});

test('what fails of itself is an error', async () => {
  const failing = measuringRunner(new AbortController(), new Error('no kernels'));
  await expect(failing.run(cell!, { signal: new AbortController().signal })).rejects.toThrow('no kernels');
});

/** A trainer whose cell ends as `finish` says, once it is stopped. */
function queueThat(finish: () => null) {
  let stopped = () => {};
  const calls: string[] = [];
  const api: Partial<TrainerApi> = {
    runCell: ({ seed }) => {
      calls.push(`run ${seed}`);
      return new Promise<void>((resolve) => {
        stopped = resolve;
      }).then(finish);
    },
    cancelCell: async () => {
      calls.push('cancel');
      stopped();
    },
  };
  return { queue: new CellQueue(sampleExperiment, () => api as TrainerApi), calls };
}
const places = [1, 2].map((seed) => ({ setup: 'small', arm: 'full', seed }));

test('a queue that is stopped is empty, also where its cell ends with an error', async () => {
  const { queue, calls } = queueThat(() => {
    throw new LabError({ code: 'gpu.lost', what: 'The device was lost' });
  });
  queue.add(places);
  await queue.cancel();
  await vi.waitFor(() => expect(queue.current).toBeNull());
  expect(calls).toEqual(['run 1', 'cancel']);
  expect({ waiting: queue.waiting, active: queue.active, stopping: queue.stopping }).toEqual({
    waiting: 0,
    active: false,
    stopping: false,
  });
  expect(queue.error?.code).toBe('gpu.lost');
});

test('a queue whose cell fails of itself has it again on Resume', async () => {
  let fails = true;
  const api = {
    runCell: async () => {
      if (fails) throw new LabError({ code: 'gpu.lost', what: 'The device was lost' });
      return { ...sampleResult };
    },
  } as unknown as TrainerApi;
  const queue = new CellQueue(sampleExperiment, () => api);
  queue.add(places.slice(0, 1));
  await vi.waitFor(() => expect(queue.error?.code).toBe('gpu.lost'));
  expect(queue.waiting).toBe(1);
  fails = false;
  queue.resume();
  await vi.waitFor(() => expect(queue.result(places[0]!)).toBeDefined());
  expect(queue.active).toBe(false);
});
