/**
 * Who trains a run: the tab that holds its lock. Locks end with the worker that holds them, however it ends, so a run whose
 * tab was closed or crashed is free at once. Browsers without the Web Locks API have no such guard.
 */
import { LabError } from '../core/errors';

const PREFIX = 'run:';

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
  const locks = manager();
  if (!locks) return async () => {};
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let request: Promise<unknown> = Promise.resolve();
  const taken = await new Promise<boolean>((resolve, reject) => {
    request = locks.request(PREFIX + runId, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : held;
    });
    request.catch(reject);
  });
  if (!taken) throw runElsewhere(runId);
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
