/** A run that goes on in another place than it began in. */
import { sameKernels } from '../../core/kernels';
import type { Alarm } from '../../core/metrics/records';
import type { RunHeader } from '../../core/protocol/protocol';

/** What the bits of a run depend on besides its configuration and seed. */
export type Place = Pick<RunHeader, 'adapter' | 'build' | 'kernels'>;

/** The alarm of a run that continues on another adapter or build than it was started on. */
export function movedAlarm(from: Place, here: Place): Alarm[] {
  const same = sameKernels(here.kernels, from.kernels);
  if (here.adapter === from.adapter && here.build === from.build && same) return [];
  const name = (p: Place) => `${p.adapter}, build ${p.build}${p === here && !same ? ', other kernels' : ''}`;
  const message = `Started on ${name(from)}; continued on ${name(here)}: from here on it is not bit-identical to an uninterrupted run.`;
  return [{ code: 'moved', message }];
}
