/** Rollouts on the real kernels: how episodes are grouped and seated must not show in a single bit. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PartialConfig, parseConfig } from '../../src/core/config';
import { VOCABULARY_SIZE } from '../../src/core/tokenizer';
import type { Rollout } from '../../src/core/trajectory';
import { createTerminalPool } from '../../src/env/pool';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import type { PolicyEngine } from '../../src/model/engine';
import { initialParameters } from '../../src/model/initialise';
import { setupOf } from '../../src/run/expert';
import { tinyContext } from '../../src/run/presets';
import { shapeOf } from '../../src/run/pretrain';
import { type RolloutOptions, rollOut } from '../../src/run/rollout';
import { createEngine } from '../../src/run/session';
import { drawTasks } from '../../src/run/tasks';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
});
afterAll(() => context.dispose());

/** Refuses calls of the engine that overlap: its contract is one at a time. */
function exclusive(engine: PolicyEngine): PolicyEngine {
  let busy = false;
  return new Proxy(engine, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== 'decode') return typeof value === 'function' ? value.bind(target) : value;
      return async (...args: Parameters<PolicyEngine['decode']>) => {
        if (busy) throw new Error('two calls of the engine at once');
        busy = true;
        try {
          return await target.decode(...args);
        } finally {
          busy = false;
        }
      };
    },
  });
}

const arrangements: Pick<RolloutOptions, 'groups' | 'seats'>[] = [
  { groups: 1 },
  { groups: 2 },
  { groups: 3, seats: 7 },
  { groups: 1, seats: 4 },
];

test.each([
  { summaryRole: 'policy', shape: {} },
  { summaryRole: 'writer', shape: {} },
  // Too wide for the fused kernel: the layered path.
  { summaryRole: 'policy', shape: { dModel: 80, heads: 4, mlp: 160 } },
] as { summaryRole: 'policy' | 'writer'; shape: PartialConfig }[])(
  'groups and seats change nothing (%j)',
  async (t) => {
    const config = parseConfig({ ...tinyContext, ...t.shape, base: 'random', difficultyMax: 3 });
    const shape = shapeOf(config, VOCABULARY_SIZE);
    const engine = await createEngine({ context, engine: config.engine }, shape, config);
    const pool = createTerminalPool({ workers: 0 });
    try {
      await engine.setParameters('policy', initialParameters(shape, 1, { copyInit: 1 }));
      await engine.setParameters('writer', initialParameters(shape, 2, { copyInit: 1 }));
      const tasks = drawTasks(config, 9, 'train', 0, 12);
      const all: Rollout[][] = [];
      for (const arrangement of arrangements)
        all.push(
          await rollOut(
            tasks.map((task) => setupOf(task, task.index, config)),
            {
              engine: exclusive(engine),
              pool,
              config,
              seed: 9,
              purpose: 'sample',
              summaryRole: t.summaryRole,
              gate: async () => {},
              ...arrangement,
            },
          ),
        );
      expect(all[0]!.some((r) => r.compactions.length > 0)).toBe(true);
      for (const other of all.slice(1)) expect(other).toEqual(all[0]);
    } finally {
      engine.dispose();
      await pool.close();
    }
  },
);
