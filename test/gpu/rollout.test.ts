/** Rollouts on the real kernels: how episodes are grouped and seated must not show in a single bit. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Rollout } from '../../src/core/trajectory/trajectory';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import type { PolicyEngine } from '../../src/model/engine';
import type { RolloutOptions } from '../../src/run/rollout/rollout';
import { rolloutCases, withDecode, withRollouts } from './rollout-support';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
});
afterAll(() => context.dispose());

/** Refuses calls of the engine that overlap: its contract is one at a time. */
function exclusive(engine: PolicyEngine): PolicyEngine {
  let busy = false;
  return withDecode(engine, async (decode, ...args) => {
    if (busy) throw new Error('two calls of the engine at once');
    busy = true;
    try {
      return await decode(...args);
    } finally {
      busy = false;
    }
  });
}

const arrangements: Pick<RolloutOptions, 'groups' | 'seats'>[] = [
  { groups: 1 },
  { groups: 2 },
  { groups: 3, seats: 7 },
  { groups: 1, seats: 4 },
];

test.each(rolloutCases)('groups and seats change nothing (%j)', (t) =>
  withRollouts(context, t, {}, exclusive, async (play) => {
    const all: Rollout[][] = [];
    for (const arrangement of arrangements) all.push(await play(arrangement));
    expect(all[0]!.some((r) => r.compactions.length > 0)).toBe(true);
    for (const other of all.slice(1)) expect(other).toEqual(all[0]);
  }),
);
