/**
 * A run whose numbers are no longer finite ends before they are saved: its last checkpoint stays the one to go back to. The
 * checks read what is on the host anyway, so they change no result.
 */
import { LabError } from '../../core/errors';
import type { Alarm } from '../../core/metrics/records';
import type { Checkpoint } from '../../core/protocol/protocol';
import { type ModelShape, parameterLayout, requireFiniteParameters } from '../../model/parameters';
import type { LearnResult } from '../learn/learn';

const FIX =
  'The checkpoint before this iteration is kept. Start a new run with a lower learningRate or criticLearningRate, or a smaller gradClip.';

function ended(iteration: number, got: string, cause?: unknown): LabError {
  return new LabError(
    {
      code: 'run.non-finite',
      what: 'The run stopped: its numbers are no longer finite',
      where: `iteration ${iteration}`,
      expected: 'a finite loss, finite gradients and finite parameters',
      got,
      fix: FIX,
    },
    { cause },
  );
}

/** @throws `run.non-finite` when an advantage, loss or gradient of the iteration was NaN or infinite */
export function requireFiniteUpdate({ alarms, stats, valueLoss }: LearnResult, iteration: number): void {
  const alarm: Alarm | undefined = alarms.find(({ code }) => code === 'non-finite');
  // The engine reports what it saw on the device; these are the numbers that came back.
  const { loss = 0, policyLoss = 0, gradNorm = 0 } = stats ?? {};
  const bad = Object.entries({ loss, policyLoss, valueLoss, gradNorm }).find(([, x]) => !Number.isFinite(x));
  if (alarm || bad) throw ended(iteration, alarm ? alarm.message.replace(/\.$/, '') : `${bad?.[0]} ${bad?.[1]}`);
}

/** All tensors of a checkpoint, moments included. @throws `model.non-finite` */
export function requireFiniteCheckpoint({ policy, critic }: Checkpoint, shape: ModelShape, where: string): void {
  const layout = parameterLayout(shape);
  for (const [role, state] of Object.entries({ policy, critic })) {
    if (!state) continue;
    requireFiniteParameters(state.parameters, layout, `${role}.`, where);
    requireFiniteParameters(state.m, layout, `${role}.adam_m.`, where);
    requireFiniteParameters(state.v, layout, `${role}.adam_v.`, where);
  }
}

/** As `requireFiniteCheckpoint`, of a checkpoint that is about to be saved. @throws `run.non-finite` */
export function requireSavable(checkpoint: Checkpoint, shape: ModelShape): void {
  const iteration = checkpoint.iteration - 1;
  try {
    requireFiniteCheckpoint(checkpoint, shape, 'models');
  } catch (thrown) {
    if (!(thrown instanceof LabError)) throw thrown;
    throw ended(iteration, `${thrown.parts.got} at ${thrown.parts.where}`, thrown);
  }
}
