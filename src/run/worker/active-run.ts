/** A run on its device: what it holds while it is active, and how it begins and lets go. */
import type { Checkpoint, RunHeader, TrainerEvent, TrainerStatus } from '../../core/protocol/protocol';
import type { TerminalPool } from '../../env/pool';
import { createBrowserPool } from '../../env/pool-browser';
import type { PolicyEngine } from '../../model/engine';
import type { Store } from '../../store';
import { build } from '../session/build';
import { requireStoredPlan } from '../session/kernel-plan';
import { createEngine, loadBase, type Machine } from '../session/session';
import { Trainer } from '../trainer/trainer';
import { fetchBase } from './base-file';
import type { Release } from './run-lock';

/** A run in progress. */
export interface ActiveRun {
  readonly header: RunHeader;
  readonly trainer: Trainer;
  /** Resolves when the run has ended and let go of what it held. */
  readonly done: Promise<void>;
  readonly fate: Fate;
}

interface Fate {
  /** On its way out: it can only be loaded anew. */
  ending: boolean;
  /** Its device was lost: whatever fails after that is a consequence. */
  lost: boolean;
}

/** What a run holds while it is active. */
interface Held {
  engine?: PolicyEngine;
  pool?: TerminalPool;
  readonly lock: Release;
}

const ENDED: ReadonlySet<TrainerStatus> = new Set(['finished', 'stopped', 'failed']);

export interface RunDependencies {
  readonly machine: Machine;
  readonly store: Store;
  /** Of the run; let go when the run has ended, or now when it cannot begin. */
  readonly lock: Release;
  readonly listener: (event: TrainerEvent) => void;
  /** Called when the run lets go, before it has. */
  readonly onClose: () => void;
}

/** Begins a run, or goes on with it from a checkpoint. */
export async function launch(
  header: RunHeader,
  checkpoint: Checkpoint | null,
  { machine, store, lock, listener, onClose }: RunDependencies,
): Promise<ActiveRun> {
  const held: Held = { lock };
  const close = async () => {
    onClose();
    held.engine?.dispose();
    await held.pool?.close();
    await held.lock();
  };
  try {
    const { shape, parameters } = await loadBase(header.config, header.seed, fetchBase);
    // A run goes on with the kernels it began with, whatever was measured since: only so is it the same run.
    await requireStoredPlan(machine, shape, header);
    held.pool = await createBrowserPool({ workers: header.config.terminalWorkers });
    held.engine = await createEngine(machine, shape, header.config, header.kernels);
    const fate: Fate = { ending: false, lost: false };
    const trainer = new Trainer(header, {
      engine: held.engine,
      pool: held.pool,
      sink: store,
      base: parameters,
      here: { adapter: machine.adapter, build, kernels: header.kernels },
      emit: (event) => {
        if (event.type === 'progress' && ENDED.has(event.progress.status)) fate.ending = true;
        if (event.type !== 'failed' || !fate.lost) listener(event);
      },
      now: () => performance.now(),
    });
    // The trainer itself reports how it failed.
    const done = trainer.run(checkpoint).then(
      () => {},
      () => {},
    );
    return { header, trainer, fate, done: done.then(close) };
  } catch (thrown) {
    await close();
    // A run that never began is not to be listed as one that waits.
    if (!checkpoint) await store.saveStatus(header.runId, 'failed').catch(() => {});
    throw thrown;
  }
}
