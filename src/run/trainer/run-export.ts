/** What the exports of a run have in common. */
import type { RunConfig } from '../../core/config/config';
import { LabError } from '../../core/errors';
import type { Checkpoint, RunHeader } from '../../core/protocol/protocol';

/** The error for an export of a run that has no saved iteration. */
export function nothingSaved(runId: string): LabError {
  return new LabError({
    code: 'run.nothing-saved',
    what: 'Nothing of this run has been saved yet',
    where: runId,
    fix: 'Wait for its first iteration to be saved.',
  });
}

/** What a checkpoint file says of its run. */
export function provenance(header: RunHeader, checkpoint: Checkpoint): Record<string, string> {
  const config: RunConfig = header.config;
  return {
    config: JSON.stringify(config),
    seed: String(header.seed),
    iteration: String(checkpoint.iteration),
    adapter: header.adapter,
    build: header.build,
    shell: String(header.shell ?? 1),
  };
}
