/** The page's handle on the trainer worker. */
import '../../env/worker-errors';
import * as Comlink from 'comlink';
import { LabError } from '../../core/errors';
import { Lifetime } from '../../core/lifetime';
import type { TrainerApi } from '../../core/protocol/protocol';

/** A trainer in its own worker; `dispose` ends it. */
export interface TrainerClient extends TrainerApi {
  dispose(): void;
}

/**
 * Starts the trainer worker. Calls reject when the worker dies: Comlink alone would leave them pending for ever.
 */
export function createTrainerClient(): TrainerClient {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'trainer' });
  const remote = Comlink.wrap<TrainerApi>(worker);
  const life = new Lifetime();
  worker.addEventListener('error', (event) => {
    life.end(
      new LabError({
        code: 'worker.died',
        what: `The trainer worker stopped: ${event.message || 'it could not be loaded'}`,
        fix: 'Reload the page; the run continues from its last saved iteration.',
      }),
    );
  });
  const guard = <T>(call: Promise<T>): Promise<T> => life.guard(call);
  return {
    device: () => guard(remote.device()),
    kernels: () => guard(remote.kernels()),
    measureKernels: (shape) => guard(remote.measureKernels(shape)),
    measureFallback: () => guard(remote.measureFallback()),
    bench: (request, onProgress) => guard(remote.bench(request, Comlink.proxy(onProgress))),
    cancelBench: () => guard(remote.cancelBench()),
    runCell: (request, onProgress) => guard(remote.runCell(request, Comlink.proxy(onProgress))),
    cancelCell: () => guard(remote.cancelCell()),
    keptCells: (experiment) => guard(remote.keptCells(experiment)),
    subscribe: (listener) => guard(remote.subscribe(Comlink.proxy(listener))),
    start: (request) => guard(remote.start(request)),
    resume: (runId) => guard(remote.resume(runId)),
    pause: () => guard(remote.pause()),
    step: () => guard(remote.step()),
    stop: () => guard(remote.stop()),
    listRuns: () => guard(remote.listRuns()),
    loadRecords: (runId) => guard(remote.loadRecords(runId)),
    loadRollouts: (runId, iteration) => guard(remote.loadRollouts(runId, iteration)),
    exportTrajectories: (runId) => guard(remote.exportTrajectories(runId)),
    exportCheckpoint: (runId) => guard(remote.exportCheckpoint(runId)),
    deleteRun: (runId) => guard(remote.deleteRun(runId)),
    dispose: () => {
      remote[Comlink.releaseProxy]();
      worker.terminate();
      life.end(new LabError({ code: 'worker.closed', what: 'The trainer was closed' }));
    },
  };
}
