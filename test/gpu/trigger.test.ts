/** The learned trigger on the real kernels: a cut action leaves a cache that says what a fresh forward pass says. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { special } from '../../src/core/tokenizer/tokenizer';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import type { PolicyEngine } from '../../src/model/engine';
import { packRollouts } from '../../src/run/learn/batch';
import { rolloutCases, withDecode, withRollouts } from './rollout-support';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
});
afterAll(() => context.dispose());

/**
 * Says that a third of the actions began with `compact`: a random policy hardly ever does. Not the first of a context, which
 * nothing is cached for: there the token is kept with those drawn behind it, and they were drawn behind another.
 */
const eager = (engine: PolicyEngine) =>
  withDecode(engine, async (decode, role, jobs, options) => {
    const results = await decode(role, jobs, options);
    jobs.forEach(({ start, stop, stream, index }, i) => {
      if (start > 0 && stop === special.eoc && (stream + index) % 3 === 0) results[i]!.ids[0] = special.compact;
    });
    return results;
  });

test.each(rolloutCases)('log-probs after a cut are those of the whole row, and groups change nothing (%j)', (t) =>
  withRollouts(context, t, { trigger: 'learned' }, eager, async (play, engine) => {
    const rollouts = await play({ groups: 1 });
    expect(await play({ groups: 3 })).toEqual(rollouts);
    const rows = packRollouts(rollouts);
    // The summary behind a cut action shares the row of that action.
    const cut = rows.segments.flatMap((s, i) => (s.ids[s.ids.length - 1] === special.compact ? [i] : []));
    expect(cut.length).toBeGreaterThan(3);
    for (const s of cut) expect(rows.segmentRow[s + 1]).toBe(rows.segmentRow[s]);
    const { logp } = await engine.score('policy', rows);
    let checked = 0;
    rows.segments.forEach(({ kind }, s) => {
      if (kind === 'summary' && t.summaryRole === 'writer') return;
      for (let p = rows.trainableStart[s]!; p < rows.trainableStart[s + 1]!; p++) {
        // The token put in place of another one keeps that one's log-prob; what a stop token is fed is not changed.
        if (rows.ids[rows.trainable[p]!] === special.compact) continue;
        checked++;
        // Float32 sums in another order: the tolerance of the ρ = 1 check.
        expect(Math.abs(logp[p]! - rows.oldLogp[p]!)).toBeLessThan(1e-3);
      }
    });
    expect(checked).toBeGreaterThan(100);
  }),
);
