import { LabError } from '../core/errors';

/** @param reason a clause such as `it could not be loaded` */
export function workerDied(reason: string): LabError {
  return new LabError({
    code: 'terminal.worker-died',
    what: `A terminal worker died: ${reason}`,
    where: 'terminal worker',
    fix: 'Reload the page or start the command again; the run resumes from its last saved iteration.',
  });
}

export function poolClosed(): LabError {
  return new LabError({
    code: 'terminal.closed',
    what: 'The terminal pool was closed',
    where: 'terminal pool',
    fix: 'Open a new pool.',
  });
}
