/** How fast jax-js on WebAssembly is here: a short timing for the page of a browser without WebGPU. */
import { parseConfig } from '../../core/config/config';
import type { FallbackSpeed } from '../../core/protocol/protocol';
import { RandomStream } from '../../core/rng';
import { VOCABULARY_SIZE } from '../../core/tokenizer/tokenizer';
import type { DecodeJob, UpdateBatch } from '../../model/engine';
import { initialParameters } from '../../model/initialise';
import { presets } from '../presets/presets';
import { shapeOf } from '../presets/pretrain';
import { createEngine, machineFor } from '../session/session';

const EPISODES = 64;
const FED = 16;
const SAMPLED = 16;
const ROW_LENGTH = FED + SAMPLED;
/** Timed repetitions; the first call, which compiles, comes before. */
const REPEATS = 3;

/** Decodes and updates the quick model a few times. */
export async function measureFallback(): Promise<FallbackSpeed> {
  const config = parseConfig(presets.quick.config);
  const shape = shapeOf(config, VOCABULARY_SIZE);
  const engine = await createEngine(machineFor(null, config.engine), shape, config);
  try {
    await engine.setParameters('policy', initialParameters(shape, 1, { copyInit: 0 }));
    await engine.openSlots('policy', EPISODES, shape.positions);
    const batch = randomBatch();
    const jobs = randomJobs();
    const { learningRate, clip, valueCoef } = config;
    const decode = () => engine.decode('policy', jobs, { key: [1, 2] });
    const update = () =>
      engine.update(
        'policy',
        batch,
        {
          objective: 'ppo',
          lossNorm: 'token',
          trainSummary: true,
          policyCoef: 1,
          valueCoef,
          entropyCoef: 0,
          klCoef: 0,
          clip,
          valueClip: 0,
        },
        { learningRate, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, gradClip: 1 },
      );
    return {
      decodeTokensPerSecond: (EPISODES * SAMPLED) / (await secondsOf(decode)),
      updateTokensPerSecond: batch.ids.length / (await secondsOf(update)),
    };
  } finally {
    engine.dispose();
  }
}

/** Seconds of the fastest repetition: what else the machine does only adds. */
async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  await work();
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < REPEATS; i++) {
    const from = performance.now();
    await work();
    best = Math.min(best, performance.now() - from);
  }
  return best / 1000;
}

function randomIds(stream: number, length: number): Uint32Array {
  const rng = new RandomStream(1, 'test', stream);
  return Uint32Array.from({ length }, () => rng.integer(VOCABULARY_SIZE));
}

/** Contexts of `FED` tokens; no token ends a job before its cap. */
function randomJobs(): DecodeJob[] {
  return Array.from({ length: EPISODES }, (_, slot) => ({
    slot,
    start: 0,
    feed: randomIds(slot, FED),
    previous: 0,
    stop: VOCABULARY_SIZE,
    cap: SAMPLED,
    stream: slot,
    index: 0,
  }));
}

/** Two rows per episode, the second half of each sampled. */
function randomBatch(): UpdateBatch {
  const rows = 2 * EPISODES;
  const starts = (step: number) => Uint32Array.from({ length: rows + 1 }, (_, r) => r * step);
  const tokens = rows * SAMPLED;
  const column = (value: number) => new Float32Array(tokens).fill(value);
  return {
    ids: randomIds(EPISODES, rows * ROW_LENGTH),
    rowStart: starts(ROW_LENGTH),
    trainable: Uint32Array.from({ length: tokens }, (_, p) => {
      return Math.floor(p / SAMPLED) * ROW_LENGTH + FED + (p % SAMPLED);
    }),
    trainableStart: starts(SAMPLED),
    kind: new Uint8Array(rows),
    rollout: Uint32Array.from({ length: rows }, (_, r) => r),
    oldLogp: column(-Math.log(VOCABULARY_SIZE)),
    advantages: column(1),
    targets: column(0),
    oldValues: column(0),
  };
}
