/** Small rollouts on the real kernels. */
import { type PartialConfig, parseConfig } from '../../src/core/config/config';
import { VOCABULARY_SIZE } from '../../src/core/tokenizer/tokenizer';
import { createTerminalPool } from '../../src/env/pool';
import type { GpuContext } from '../../src/gpu/device';
import type { PolicyEngine } from '../../src/model/engine';
import { initialParameters } from '../../src/model/initialise';
import { setupOf } from '../../src/run/expert/expert';
import { tinyContext } from '../../src/run/presets/presets';
import { shapeOf } from '../../src/run/presets/pretrain';
import { type RolloutOptions, rollOut } from '../../src/run/rollout/rollout';
import { drawTasks } from '../../src/run/rollout/tasks';
import { createEngine } from '../../src/run/session/session';

/** The engine with another `decode`. */
export function withDecode(
  engine: PolicyEngine,
  decode: (
    original: PolicyEngine['decode'],
    ...args: Parameters<PolicyEngine['decode']>
  ) => ReturnType<PolicyEngine['decode']>,
): PolicyEngine {
  return new Proxy(engine, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== 'decode') return typeof value === 'function' ? value.bind(target) : value;
      return (...args: Parameters<PolicyEngine['decode']>) => decode(target.decode.bind(target), ...args);
    },
  });
}

export interface RolloutCase {
  readonly summaryRole: RolloutOptions['summaryRole'];
  readonly shape: PartialConfig;
}

export const rolloutCases: readonly RolloutCase[] = [
  { summaryRole: 'policy', shape: {} },
  { summaryRole: 'writer', shape: {} },
  // Too wide for the fused kernel: the layered path.
  { summaryRole: 'policy', shape: { dModel: 80, heads: 4, mlp: 160 } },
];

/** Twelve tasks, a random policy and another random writer; what `test` gets plays them in an arrangement. */
export async function withRollouts<T>(
  context: GpuContext,
  { summaryRole, shape: width }: RolloutCase,
  rules: PartialConfig,
  wrap: (engine: PolicyEngine) => PolicyEngine,
  test: (
    play: (arrangement: Pick<RolloutOptions, 'groups' | 'seats'>) => ReturnType<typeof rollOut>,
    engine: PolicyEngine,
  ) => Promise<T>,
): Promise<T> {
  const config = parseConfig({ ...tinyContext, ...width, base: 'random', difficultyMax: 3, ...rules });
  const shape = shapeOf(config, VOCABULARY_SIZE);
  const engine = await createEngine({ context, engine: config.engine }, shape, config);
  const pool = createTerminalPool({ workers: 0 });
  try {
    await engine.setParameters('policy', initialParameters(shape, 1, { copyInit: 1 }));
    await engine.setParameters('writer', initialParameters(shape, 2, { copyInit: 1 }));
    const tasks = drawTasks(config, 9, 'train', 0, 12);
    const play = (arrangement: Pick<RolloutOptions, 'groups' | 'seats'>) =>
      rollOut(
        tasks.map((task) => setupOf(task, task.index, config)),
        {
          engine: wrap(engine),
          pool,
          config,
          seed: 9,
          purpose: 'sample',
          summaryRole,
          gate: async () => {},
          ...arrangement,
        },
      );
    return await test(play, engine);
  } finally {
    engine.dispose();
    await pool.close();
  }
}
