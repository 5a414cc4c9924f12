/**
 * What the trainer needs from an engine. `webgpu` (our kernels), `tfjs` (reference) and `jax` (for machines without WebGPU)
 * implement it; the trainer knows no other way to touch a model. All methods that touch the device are asynchronous and must
 * not be interleaved: one call at a time.
 */
import type { AdvantageBatch, AdvantageOptions, LossOptions, UpdateStats } from '../core/algorithm/algorithm';
import type { ModelShape } from './parameters';

export type {
  AdvantageBatch,
  AdvantageMode,
  AdvantageOptions,
  LossNorm,
  LossOptions,
  UpdateStats,
} from '../core/algorithm/algorithm';

export type EngineKind = 'webgpu' | 'tfjs' | 'jax';

/**
 * The models an engine can hold: `policy` is trained; `critic` exists when the critic is separate; `reference` is the
 * frozen policy of the KL term; `writer` is the frozen summary writer. All share one shape.
 */
export type ModelRole = 'policy' | 'critic' | 'reference' | 'writer';

/**
 * R token rows packed without padding; P of the T tokens are mask-1 ("trainable"). The trainable tokens belong to S ≥ R
 * segments, each inside one row: a summary continues the context of the actions before it, so both segments can be read off
 * one row. Where every row is one segment, S = R.
 */
export interface PackedRows {
  /** [T] token ids of all rows, one after the other. */
  readonly ids: Uint32Array;
  /** [R + 1] row r is ids[rowStart[r] .. rowStart[r+1]). Positions count from 0 in each row. */
  readonly rowStart: Uint32Array;
  /** [P] indices into `ids` of the mask-1 tokens, ascending. Never the first token of a row: token i is predicted from
   *  the hidden state at i − 1 of the same row. */
  readonly trainable: Uint32Array;
  /** [S + 1] segment s owns trainable[trainableStart[s] .. trainableStart[s+1]), all in one row. */
  readonly trainableStart: Uint32Array;
}

/** Per trainable token, of one forward pass. All [P]. */
export interface Scores {
  /** log π(token | prefix), full softmax at temperature 1. */
  readonly logp: Float32Array;
  /** Entropy of the full softmax, nats. */
  readonly entropy: Float32Array;
  /** V(prefix before the token). */
  readonly values: Float32Array;
}

/** One decoding request: extend the cache of `slot` by `feed`, then sample. */
export interface DecodeJob {
  /** Cache slot, 0 ≤ slot < slots given to `openSlots`. A slot appears at most once in a call. */
  readonly slot: number;
  /** Number of cache positions of this slot that stay valid; `feed` is written from there on. 0 starts a new context. */
  readonly start: number;
  /** Tokens to feed (at least one). Includes the last sampled token of the previous call, which was never fed. */
  readonly feed: Uint32Array;
  /** Token fed at position start − 1 (for `previousToken`); ignored when start is 0. */
  readonly previous: number;
  /** Sampling ends after this token. */
  readonly stop: number;
  /** Most tokens to sample; ends without `stop` when reached. */
  readonly cap: number;
  /** Random stream: number of the rollout, unsigned 32-bit. */
  readonly stream: number;
  /** Random index of the first sampled token: tokens sampled so far in this rollout. */
  readonly index: number;
}

/** What one job sampled. All arrays have the same length n, 1 ≤ n ≤ cap. */
export interface DecodeResult {
  readonly ids: Uint32Array;
  /** Behaviour log-probability of each id, full softmax at temperature 1. */
  readonly logp: Float32Array;
  /** Value head of the decoding model before each id. */
  readonly values: Float32Array;
}

/** Randomness of a decode call: draw = threefry(key, stream, index), see core/rng. */
export interface DecodeOptions {
  readonly key: readonly [number, number];
}

/** One optimiser step's worth of rows ("minibatch"): whole rollouts, or whole groups under `outcome`. */
export interface UpdateBatch extends PackedRows {
  /** [S] 0 execution, 1 summary. */
  readonly kind: Uint8Array;
  /** [S] rollout number; segments of a rollout are neighbours. Only equality matters. */
  readonly rollout: Uint32Array;
  /** [P] behaviour log-probs. */
  readonly oldLogp: Float32Array;
  /** [P] advantages, already scaled. */
  readonly advantages: Float32Array;
  /** [P] value targets. */
  readonly targets: Float32Array;
  /** [P] values before the iteration's updates (for the value clip). */
  readonly oldValues: Float32Array;
  /** [P] log-probs of the reference policy; required when klCoef > 0. */
  readonly referenceLogp?: Float32Array;
}

export interface OptimiserOptions {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** Global gradient-norm clip; 0 switches it off. */
  readonly gradClip: number;
}

/** Optimiser state of one model, for checkpoints. */
export interface OptimiserState {
  readonly m: Float32Array;
  readonly v: Float32Array;
  readonly step: number;
}

export interface PolicyEngine {
  readonly kind: EngineKind;
  readonly shape: ModelShape;
  /** Bytes of device memory the engine holds now. */
  deviceBytes(): number;
  /** Creates or overwrites a model from flat parameters (parameterLayout(shape).total floats); zeroes its optimiser. */
  setParameters(role: ModelRole, parameters: Float32Array): Promise<void>;
  getParameters(role: ModelRole): Promise<Float32Array>;
  setOptimiser(role: ModelRole, state: OptimiserState): Promise<void>;
  getOptimiser(role: ModelRole): Promise<OptimiserState>;
  /** Makes room for `slots` KV caches of `positions` each for a model. Idempotent for the same numbers. */
  openSlots(role: ModelRole, slots: number, positions: number): Promise<void>;
  /** Prefills and samples; results in the order of the jobs. A job's result does not depend on the other jobs. */
  decode(role: ModelRole, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]>;
  /** Forward pass without gradient. */
  score(role: ModelRole, rows: PackedRows): Promise<Scores>;
  /** Eq. 13–15 on the device. `outcome` has no values and is computed in core. */
  advantages(
    batch: AdvantageBatch,
    options: AdvantageOptions,
  ): Promise<{ advantages: Float32Array; targets: Float32Array }>;
  /** Gradient of one optimiser step without applying it (for tests and the gradient check). */
  gradient(
    role: ModelRole,
    batch: UpdateBatch,
    loss: LossOptions,
  ): Promise<{ stats: UpdateStats; gradient: Float32Array }>;
  /** One optimiser step; micro-batches inside, sums divided once. */
  update(role: ModelRole, batch: UpdateBatch, loss: LossOptions, optimiser: OptimiserOptions): Promise<UpdateStats>;
  dispose(): void;
}
