/**
 * Who trains a run: the tab that holds its lock. Locks end with the worker that holds them, however it ends, so a run whose
 * tab was closed or crashed is free at once. Browsers without the Web Locks API have no such guard.
 */
import { LabError } from '../../core/errors';
import { benchRunning } from './desk';

const PREFIX = 'run:';
const BENCH = 'bench';

/** Lets the run go; resolves when others can take it. */
export type Release = () => Promise<void>;

const manager = (): LockManager | undefined => (globalThis.navigator as Partial<Navigator> | undefined)?.locks;

function runElsewhere(runId: string): LabError {
  return new LabError({
    code: 'run.elsewhere',
    what: 'This run is being trained in another tab',
    where: runId,
    expected: 'a run that no other tab trains',
    got: 'a run in progress',
    fix: 'Go on in the tab that trains it, or stop it there first.',
  });
}

/**
 * Takes the lock of a run.
 * @throws LabError run.elsewhere when another tab holds it
 */
export async function holdRun(runId: string): Promise<Release> {
  const release = await hold(PREFIX + runId);
  if (!release) throw runElsewhere(runId);
  return release;
}

/**
 * Takes the device for a measurement: no tab trains or measures then.
 * @throws LabError bench.busy when some tab trains, bench.running when another one measures
 */
export async function holdBench(): Promise<Release> {
  const release = await hold(BENCH);
  if (!release) throw benchRunning('a cell in another tab measures or computes');
  // After taking the lock: a run that begins meanwhile sees it.
  const [runId] = await heldRuns();
  if (runId === undefined) return release;
  await release();
  throw new LabError({
    code: 'bench.busy',
    what: 'A run in another tab occupies the graphics device, so nothing can be measured on it',
    where: runId,
    fix: 'Stop the run there, measure, and resume it.',
  });
}

/** @throws LabError bench.running while some tab measures */
export async function requireNoBench(): Promise<void> {
  const { held = [] } = (await manager()?.query()) ?? {};
  if (held.some(({ name }) => name === BENCH)) throw benchRunning('a bench or comparison cell computes');
}

/** Takes a lock if it is free. @returns null when somebody holds it */
async function hold(name: string): Promise<Release | null> {
  const locks = manager();
  if (!locks) return async () => {};
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let request: Promise<unknown> = Promise.resolve();
  const taken = await new Promise<boolean>((resolve, reject) => {
    request = locks.request(name, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : held;
    });
    request.catch(reject);
  });
  if (!taken) return null;
  return async () => {
    letGo();
    await request;
  };
}

/** Ids of the runs that some tab trains now, this one included. */
export async function heldRuns(): Promise<ReadonlySet<string>> {
  const { held = [] } = (await manager()?.query()) ?? {};
  return new Set(held.flatMap(({ name }) => (name?.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : [])));
}
