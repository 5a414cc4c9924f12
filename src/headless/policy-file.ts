/** A policy named on the command line. */
import { inFile, LabError } from '../core/errors';
import { readSafetensors } from '../core/safetensors';
import { type ModelFile, readModel } from '../run/session/model-file';
import { shown } from './system-error';

/**
 * Reads a policy: a base, or policy.safetensors of a run.
 * @throws policy.training-state for the checkpoint of a run; LabErrors that name the file for a damaged one
 */
export function readPolicy(bytes: Uint8Array, path: string): ModelFile {
  try {
    if (readSafetensors(bytes).metadata.has('steps'))
      throw new LabError({
        code: 'policy.training-state',
        what: 'The file is the training state of a run, not a policy',
        where: shown(path),
        expected: 'a base, or policy.safetensors of a run',
        got: 'policy, optimiser and counters in one file',
        fix: 'Use policy.safetensors of that run; it lies in the same folder.',
      });
    return readModel(bytes, path);
  } catch (thrown) {
    throw inFile(thrown, path);
  }
}
