/** Runs the whole loop at toy size, and keeps all it saves and says. */
import { type PartialConfig, parseConfig, type RunConfig } from '../../src/core/config/config';
import { LabError } from '../../src/core/errors';
import type { IterationRecord } from '../../src/core/metrics/records';
import type { Checkpoint, RunHeader, Sink, TrainerEvent } from '../../src/core/protocol/protocol';
import { VOCABULARY_SIZE } from '../../src/core/tokenizer/tokenizer';
import type { Rollout } from '../../src/core/trajectory/trajectory';
import { createTerminalPool, type TerminalPool } from '../../src/env/pool';
import type { PolicyEngine } from '../../src/model/engine';
import { initialParameters } from '../../src/model/initialise';
import { tinyContext } from '../../src/run/presets/presets';
import { shapeOf } from '../../src/run/presets/pretrain';
import { createEngine } from '../../src/run/session/session';
import { Trainer } from '../../src/run/trainer/trainer';
import { testContext } from './transformer-support';

export const toy: PartialConfig = {
  ...tinyContext,
  base: 'random',
  difficultyMax: 3,
  episodes: 6,
  iterations: 2,
  minibatches: 2,
  evalEvery: 1,
  evalEpisodes: 2,
  finalEvalEpisodes: 2,
  valuePretrain: 2,
  lambdaScope: 'fixed',
  entropyCoef: 0.001,
};

/** Keeps all a run saves. */
export class MemorySink implements Sink {
  records: IterationRecord[] = [];
  rollouts: Rollout[][] = [];
  checkpoints: Checkpoint[] = [];
  /** @param refuse how many saves find the disk full */
  constructor(private refuse = 0) {}
  async saveHeader(): Promise<void> {}
  async saveIteration(_id: string, record: IterationRecord, rollouts: readonly Rollout[], checkpoint: Checkpoint) {
    if (this.refuse-- > 0) throw new LabError({ code: 'store.quota', what: 'The disk is full' });
    this.records.push(record);
    this.rollouts.push([...rollouts]);
    this.checkpoints.push(checkpoint);
  }
  async saveStatus(): Promise<void> {}
  async loadRun(): Promise<null> {
    return null;
  }
}

export interface Played {
  readonly sink: MemorySink;
  readonly events: TrainerEvent[];
  readonly policy: Float32Array;
  readonly base: Float32Array;
}

export async function play(
  partial: PartialConfig,
  options: {
    seed?: number;
    checkpoint?: Checkpoint;
    refuse?: number;
    /** Saves here too. */
    also?: Sink;
    here?: Pick<RunHeader, 'adapter' | 'build'>;
    wrap?: (engine: PolicyEngine) => PolicyEngine;
    wrapPool?: (pool: TerminalPool) => TerminalPool;
    onEvent?: (event: TrainerEvent, trainer: Trainer) => void;
  } = {},
): Promise<Played> {
  const config: RunConfig = parseConfig({ ...toy, ...partial });
  const { seed = 3, checkpoint = null, wrap = (e) => e, wrapPool = (p) => p, onEvent } = options;
  const shape = shapeOf(config, VOCABULARY_SIZE);
  const base = initialParameters(shape, 1, { copyInit: 1 });
  const engine = await createEngine({ context: await testContext(), engine: config.engine }, shape, config);
  const pool = createTerminalPool({ workers: 0 });
  const sink = new MemorySink(options.refuse);
  const events: TrainerEvent[] = [];
  const header: RunHeader = {
    runId: 'test',
    config,
    seed,
    preset: null,
    createdAt: '',
    adapter: '',
    engine: config.engine,
    build: 'test',
  };
  const { also } = options;
  await also?.saveHeader(header);
  const trainer: Trainer = new Trainer(header, {
    engine: wrap(engine),
    pool: wrapPool(pool),
    sink: also ? both(sink, also) : sink,
    base,
    here: options.here ?? header,
    now: () => performance.now(),
    emit: (event) => {
      events.push(event);
      onEvent?.(event, trainer);
    },
  });
  try {
    await trainer.run(checkpoint);
    return { sink, events, policy: await engine.getParameters('policy'), base };
  } finally {
    engine.dispose();
    await pool.close();
  }
}

/** Saves to both; the first is what a test looks at. */
function both(first: Sink, second: Sink): Sink {
  return {
    saveHeader: async () => {},
    saveIteration: async (...saved) => {
      await second.saveIteration(...saved);
      await first.saveIteration(...saved);
    },
    saveStatus: (...saved) => second.saveStatus(...saved),
    loadRun: (id) => second.loadRun(id),
  };
}

/** Metrics without the time fields. */
export function timeless(records: readonly IterationRecord[]): string {
  return JSON.stringify(records, (key, value) => (key.endsWith('Ms') ? undefined : value));
}

/** An untrained policy earns nothing and would never be updated: advantages and targets that move policy and critic. */
export const stir = (engine: PolicyEngine): PolicyEngine =>
  new Proxy(engine, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name === 'advantages')
        return async ({ values }: Parameters<PolicyEngine['advantages']>[0]) => {
          const advantages = Float32Array.from(values, (_, i) => (((i * 37) % 11) - 5) / 5);
          return { advantages, targets: advantages.slice() };
        };
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
