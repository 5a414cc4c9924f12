/** The learned trigger on the real kernels: a cut action leaves a cache that says what a fresh forward pass says. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PartialConfig, parseConfig } from '../../src/core/config';
import { special, VOCABULARY_SIZE } from '../../src/core/tokenizer';
import { createTerminalPool } from '../../src/env/pool';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import type { PolicyEngine } from '../../src/model/engine';
import { initialParameters } from '../../src/model/initialise';
import { packRollouts } from '../../src/run/batch';
import { setupOf } from '../../src/run/expert';
import { tinyContext } from '../../src/run/presets';
import { shapeOf } from '../../src/run/pretrain';
import { rollOut } from '../../src/run/rollout';
import { createEngine } from '../../src/run/session';
import { drawTasks } from '../../src/run/tasks';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
});
afterAll(() => context.dispose());

/**
 * Says that a third of the actions began with `compact`: a random policy hardly ever does. Not the first of a context, which
 * nothing is cached for: there the token is kept with those drawn behind it, and they were drawn behind another.
 */
function eager(engine: PolicyEngine): PolicyEngine {
  return new Proxy(engine, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== 'decode') return typeof value === 'function' ? value.bind(target) : value;
      return async (...args: Parameters<PolicyEngine['decode']>) => {
        const results = await target.decode(...args);
        args[1].forEach(({ start, stop, stream, index }, i) => {
          if (start > 0 && stop === special.eoc && (stream + index) % 3 === 0) results[i]!.ids[0] = special.compact;
        });
        return results;
      };
    },
  });
}

test.each([
  { summaryRole: 'policy', shape: {} },
  { summaryRole: 'writer', shape: {} },
  // Too wide for the fused kernel: the layered path.
  { summaryRole: 'policy', shape: { dModel: 80, heads: 4, mlp: 160 } },
] as { summaryRole: 'policy' | 'writer'; shape: PartialConfig }[])(
  'log-probs after a cut are those of the whole row, and groups change nothing (%j)',
  async (t) => {
    const config = parseConfig({ ...tinyContext, ...t.shape, base: 'random', difficultyMax: 3, trigger: 'learned' });
    const shape = shapeOf(config, VOCABULARY_SIZE);
    const engine = await createEngine({ context, engine: config.engine }, shape, config);
    const pool = createTerminalPool({ workers: 0 });
    try {
      await engine.setParameters('policy', initialParameters(shape, 1, { copyInit: 1 }));
      await engine.setParameters('writer', initialParameters(shape, 2, { copyInit: 1 }));
      const tasks = drawTasks(config, 9, 'train', 0, 12);
      const play = (groups: number) =>
        rollOut(
          tasks.map((task) => setupOf(task, task.index, config)),
          {
            engine: eager(engine),
            pool,
            config,
            seed: 9,
            purpose: 'sample',
            summaryRole: t.summaryRole,
            gate: async () => {},
            groups,
          },
        );
      const rollouts = await play(1);
      expect(await play(3)).toEqual(rollouts);
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
    } finally {
      engine.dispose();
      await pool.close();
    }
  },
);
