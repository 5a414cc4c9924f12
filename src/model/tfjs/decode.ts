/**
 * Decoding in tfjs: the contexts are kept as tokens on the host, run through the policy once per call, and extended token
 * by token with the keys and values of that run. Sampling happens on the host, in float64, with the same draws as the
 * GPU engine; tokens agree unless a draw falls on a boundary of the cumulative distribution.
 */
import * as tf from '@tensorflow/tfjs-core';
import { threefry, unitFloat } from '../../core/rng';
import type { DecodeJob, DecodeOptions, DecodeResult } from '../engine';
import type { ModelShape } from '../parameters';
import { checkJobs, checkSlots } from '../webgpu/decode-path';
import { takeRows } from './operations';
import { byPaddedLength, pieces, ROWS_STEP, roundUp } from './padded-rows';
import { causalMask, hiddenStates, type KeyValue, logProbabilities, MASKED, stateValues, type Weights } from './policy';

/** One job on its way. */
interface Active {
  readonly job: DecodeJob;
  /** Tokens the model has seen or is about to see. */
  readonly context: Uint32Array;
  readonly ids: number[];
  readonly logp: number[];
  readonly values: number[];
  done: boolean;
}

/** Contexts of one model's slots. Holds host memory only. */
export class ContextSlots {
  private contexts: Uint32Array[] = [];
  private filled = new Uint32Array(0);
  private positions = 0;

  constructor(private readonly shape: ModelShape) {}

  /** The same numbers again change nothing; other numbers give empty contexts. */
  open(slots: number, positions: number): void {
    if (slots === this.contexts.length && positions === this.positions) return;
    checkSlots(this.shape, slots, positions);
    this.contexts = Array.from({ length: slots }, () => new Uint32Array(0));
    this.filled = new Uint32Array(slots);
    this.positions = positions;
  }

  /**
   * @param limit tokens of one prefill, padding included
   * @throws see `checkJobs`; nothing has run then
   */
  async decode(
    weights: Weights,
    jobs: readonly DecodeJob[],
    options: DecodeOptions,
    limit: number,
  ): Promise<DecodeResult[]> {
    checkJobs(this.shape, jobs, this.filled, this.positions);
    const active: Active[] = jobs.map((job) => ({
      job,
      context: Uint32Array.from([...this.contexts[job.slot]!.subarray(0, job.start), ...job.feed]),
      ids: [],
      logp: [],
      values: [],
      done: false,
    }));
    for (const { length, items } of byPaddedLength(active, (a) => a.context.length, this.shape.positions)) {
      const most = Math.max(1, Math.floor(limit / length / ROWS_STEP)) * ROWS_STEP;
      for (const group of pieces(items, most)) await sampleGroup(weights, this.shape, group, length, options);
    }
    return active.map(({ job, context, ids, logp, values }) => {
      // The last sampled token has not been fed: the next call brings it.
      const fed = Uint32Array.from([...context, ...ids.slice(0, -1)]);
      this.contexts[job.slot] = fed;
      this.filled[job.slot] = fed.length;
      return { ids: Uint32Array.from(ids), logp: Float32Array.from(logp), values: Float32Array.from(values) };
    });
  }
}

/** What one forward pass leaves: the cache, and [B, vocabulary + 1] log-probs and the value of every row. */
type Stage = { present: KeyValue[]; output: tf.Tensor2D };

async function sampleGroup(
  weights: Weights,
  shape: ModelShape,
  group: readonly Active[],
  length: number,
  options: DecodeOptions,
): Promise<void> {
  const rows = roundUp(group.length, ROWS_STEP);
  const mask = paddingMask(group, rows, length);
  let stage = tf.tidy(() => prefill(weights, shape, group, rows, length));
  try {
    for (let step = 0; ; step++) {
      sampleRows(group, await stage.output.data<'float32'>(), shape.vocabulary, options);
      if (group.every((a) => a.done)) return;
      const next = tf.tidy(() => extend(weights, shape, group, rows, step, mask, stage.present));
      tf.dispose(stage);
      stage = next;
    }
  } finally {
    tf.dispose(stage);
    mask.dispose();
  }
}

/** Runs the whole contexts, left-aligned and padded to `length`. */
function prefill(weights: Weights, shape: ModelShape, group: readonly Active[], rows: number, length: number): Stage {
  const ids = new Int32Array(rows * length);
  const previous = new Int32Array(rows * length);
  // Spare rows read any state; their output is ignored.
  const last = Int32Array.from({ length: rows }, (_, row) => row * length);
  group.forEach(({ context }, row) => {
    ids.set(context, row * length);
    previous.set(context.subarray(0, -1), row * length + 1);
    last[row] = row * length + context.length - 1;
  });
  const positions = ids.map((_, i) => i % length);
  const { hidden, present } = hiddenStates(
    weights,
    shape,
    { rows, length, ids: ints(ids), previous: ints(previous), positions: ints(positions) },
    causalMask(length),
  );
  return { present, output: outputs(weights, takeRows(hidden, last)) };
}

/** Runs one more token per row: the one sampled last. Finished rows run along and are ignored. */
function extend(
  weights: Weights,
  shape: ModelShape,
  group: readonly Active[],
  rows: number,
  step: number,
  paddingMask: tf.Tensor4D,
  past: readonly KeyValue[],
): Stage {
  const ids = new Int32Array(rows);
  const previous = new Int32Array(rows);
  const positions = new Int32Array(rows);
  group.forEach(({ context, ids: sampled, done }, row) => {
    if (done) return;
    ids[row] = sampled[step]!;
    previous[row] = step > 0 ? sampled[step - 1]! : context[context.length - 1]!;
    positions[row] = context.length + step;
  });
  const mask = tf.concat([paddingMask, tf.zeros([rows, 1, 1, step + 1])], 3);
  const { hidden, present } = hiddenStates(
    weights,
    shape,
    { rows, length: 1, ids: ints(ids), previous: ints(previous), positions: ints(positions) },
    mask,
    past,
  );
  return { present, output: outputs(weights, hidden) };
}

function outputs(weights: Weights, hidden: tf.Tensor2D): tf.Tensor2D {
  return tf.concat([logProbabilities(weights, hidden), tf.reshape(stateValues(weights, hidden), [-1, 1])], 1);
}

/** [B, 1, 1, length]: `MASKED` where a context has ended and padding lies between it and the sampled tokens. */
function paddingMask(group: readonly Active[], rows: number, length: number): tf.Tensor4D {
  const mask = new Float32Array(rows * length);
  group.forEach(({ context }, row) => {
    mask.fill(MASKED, row * length + context.length, (row + 1) * length);
  });
  return tf.tensor4d(mask, [rows, 1, 1, length]);
}

/** Samples the next token of every row that is not done. @param data [B, vocabulary + 1] */
function sampleRows(group: readonly Active[], data: Float32Array, vocabulary: number, { key }: DecodeOptions): void {
  group.forEach((a, row) => {
    if (a.done) return;
    const logp = data.subarray(row * (vocabulary + 1), row * (vocabulary + 1) + vocabulary);
    const draw = unitFloat(threefry(key[0], key[1], a.job.stream, a.job.index + a.ids.length)[0]);
    const id = inverseCdf(logp, draw);
    a.ids.push(id);
    a.logp.push(logp[id]!);
    a.values.push(data[row * (vocabulary + 1) + vocabulary]!);
    a.done = id === a.job.stop || a.ids.length === a.job.cap;
  });
}

/** The first token whose cumulative probability exceeds the draw; the last token when rounding leaves none. */
export function inverseCdf(logp: Float32Array, draw: number): number {
  let cumulative = 0;
  for (let id = 0; id < logp.length; id++) {
    cumulative += Math.exp(logp[id]!);
    if (cumulative > draw) return id;
  }
  return logp.length - 1;
}

function ints(values: Int32Array): tf.Tensor1D {
  return tf.tensor1d(values, 'int32');
}
