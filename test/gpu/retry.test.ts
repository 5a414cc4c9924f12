/** Attempts and notes on the real kernels: the notes' log-probs are those of their rows, and no arrangement shows in a bit. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import { packRollouts } from '../../src/run/learn/batch';
import { rolloutCases, withRollouts } from './rollout-support';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
});
afterAll(() => context.dispose());

test.each(rolloutCases)('notes are sampled after what their attempt reads, however attempts are seated (%j)', (t) =>
  withRollouts(
    context,
    t,
    { attempts: 3, compaction: 'none' },
    (engine) => engine,
    async (play, engine) => {
      const rollouts = await play({ groups: 1 });
      for (const arrangement of [{ groups: 3, seats: 7 }, { seats: 4 }])
        expect(await play(arrangement)).toEqual(rollouts);
      // A random policy solves nothing: every task is tried three times.
      expect(rollouts.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 12 }, () => [1, 2, 3]).flat());
      const rows = packRollouts(rollouts);
      const { logp } = await engine.score(t.summaryRole, rows);
      let notes = 0;
      rows.segments.forEach(({ kind }, s) => {
        // A writer is scored for what it wrote.
        if (t.summaryRole === 'writer' && kind !== 'summary') return;
        if (kind === 'summary') notes++;
        for (let p = rows.trainableStart[s]!; p < rows.trainableStart[s + 1]!; p++)
          // Float32 sums in another order: the tolerance of the ρ = 1 check.
          expect(Math.abs(logp[p]! - rows.oldLogp[p]!)).toBeLessThan(1e-3);
      });
      expect(notes).toBe(24);
    },
  ),
);
