/** One process writes a run's folder at a time: two would put their iterations between each other's. */
import { join } from 'node:path';
import { LabError } from '../core/errors';
import { takeClaim } from './experiment/claim';
import { shown } from './system-error';

/**
 * Claims the folder of a run, also from a process of this machine that has died.
 * @param folder must exist
 * @returns how to give it back
 * @throws LabError run.busy while another process holds it; file.…
 */
export async function claimRun(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'running');
  const release = await takeClaim(path);
  if (release) return release;
  throw new LabError({
    code: 'run.busy',
    what: 'Another process is writing this run',
    where: shown(folder),
    expected: 'a run that nobody writes',
    got: `the claim ${shown(path)}`,
    fix: 'Wait for it or stop it. Where it ran on another machine that is gone, delete the claim.',
  });
}
