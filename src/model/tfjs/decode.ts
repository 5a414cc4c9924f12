/**
 * Decoding in tfjs with a KV cache of fixed capacity per slot (kv-cache.ts): all jobs of a call run together, the tokens
 * they feed in chunks of 16, then one token a step. Sampling happens on the host, in float64, with the same draws as the
 * GPU engine; tokens agree unless a draw falls on a boundary of the cumulative distribution.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { AutodiffSlots } from '../autodiff/engine';
import { pieces } from '../autodiff/padded-rows';
import { finishSampling, type Sampling, sampleNext, startSampling } from '../autodiff/sampling';
import { checkJobs, checkSlots } from '../check-decode';
import type { DecodeJob, DecodeOptions, DecodeResult } from '../engine';
import type { ModelShape } from '../parameters';
import { KvCache, type TokenPlace, type WorkingCache } from './kv-cache';
import type { ModelState } from './model-state';
import { hiddenStates, logProbabilities, MASKED, stateValues, type Weights } from './policy';

/** Fed tokens that run together; always as many, so that a job's result does not depend on how much the others feed. */
const CHUNK = 16;
/** Jobs that run together: bounds the attention scores of a chunk. */
const MAX_JOBS = 1020;

/** KV caches of one model's slots. `dispose` frees them. */
export class CacheSlots implements AutodiffSlots<ModelState> {
  private cache: KvCache | undefined;
  private filled = new Uint32Array(0);

  constructor(private readonly shape: ModelShape) {}

  /** The same numbers again change nothing; other numbers give empty caches. */
  open(slots: number, positions: number): void {
    if (this.cache?.slots === slots && this.cache.positions === positions) return;
    checkSlots(this.shape, slots, positions);
    this.dispose();
    this.cache = new KvCache(this.shape, slots, positions);
    this.filled = new Uint32Array(slots);
  }

  /** @throws see `checkJobs`; nothing has run then */
  async decode({ weights }: ModelState, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    const { cache } = this;
    checkJobs(this.shape, jobs, this.filled, cache?.positions ?? 0);
    const active = jobs.map(startSampling);
    for (const group of pieces(active, MAX_JOBS)) await sampleGroup(weights, this.shape, group, cache!, options);
    return finishSampling(active, this.filled);
  }

  dispose(): void {
    this.cache?.dispose();
    this.cache = undefined;
  }
}

async function sampleGroup(
  weights: Weights,
  shape: ModelShape,
  group: readonly Sampling[],
  cache: KvCache,
  options: DecodeOptions,
): Promise<void> {
  const working = cache.take(group.map(({ job }) => job.slot));
  try {
    const visible = group.map(({ job }) => job.start + job.feed.length);
    let output = prefill(weights, shape, group, working);
    for (let step = 0; ; step++) {
      const data = await output.data<'float32'>();
      output.dispose();
      group.forEach((sampling, row) => {
        if (!sampling.done) sampleNext(sampling, data, row, shape.vocabulary, options);
      });
      if (group.every((a) => a.done)) break;
      output = extend(weights, shape, group, working, visible, step);
    }
    cache.put(working, (row, step) => {
      const ids = group[row]?.ids;
      return ids && step < ids.length - 1 ? visible[row]! + step : null;
    });
  } finally {
    working.dispose();
  }
}

/** Feeds every job's tokens, chunk by chunk. @returns [rows, vocabulary + 1], see `outputs` */
function prefill(weights: Weights, shape: ModelShape, group: readonly Sampling[], working: WorkingCache): tf.Tensor2D {
  const { rows, positions } = working;
  const longest = group.reduce((n, { job }) => Math.max(n, job.feed.length), 0);
  let last = tf.zeros<tf.Rank.R2>([rows, shape.dModel]);
  for (let first = 0; first < longest; first += CHUNK) {
    const places: (TokenPlace | null)[] = [];
    const mask = new Float32Array(rows * CHUNK * positions);
    const ends = new Int32Array(rows); // rows of [last, hidden states of the chunk]
    for (let row = 0; row < rows; row++) {
      ends[row] = row;
      const job = group[row]?.job;
      for (let i = 0; i < CHUNK; i++) {
        const at = first + i;
        const id = job?.feed[at];
        if (job === undefined || id === undefined) {
          places.push(null);
          continue;
        }
        const position = job.start + at;
        places.push({ id, previous: at > 0 ? job.feed[at - 1]! : position > 0 ? job.previous : 0, position });
        const line = (row * CHUNK + i) * positions;
        mask.fill(MASKED, line + position + 1, line + positions);
        if (at === job.feed.length - 1) ends[row] = rows + row * CHUNK + i;
      }
    }
    const next = tf.tidy(() => {
      const attended = working.writer(places, CHUNK);
      const hidden = hiddenStates(
        weights,
        shape,
        gridOf(places, rows, CHUNK),
        tf.tensor4d(mask, [rows, 1, CHUNK, positions]),
        attended,
      );
      return tf.gather(tf.concat([last, hidden], 0), tf.tensor1d(ends, 'int32'));
    });
    last.dispose();
    last = next;
  }
  const output = tf.tidy(() => outputs(weights, last));
  last.dispose();
  return output;
}

/** Runs one more token per row: the one sampled last. Finished rows run along and are ignored. */
function extend(
  weights: Weights,
  shape: ModelShape,
  group: readonly Sampling[],
  working: WorkingCache,
  visible: readonly number[],
  step: number,
): tf.Tensor2D {
  const { rows, positions } = working;
  const places = Array.from({ length: rows }, (_, row): TokenPlace | null => {
    const a = group[row];
    if (a === undefined || a.done) return null;
    const previous = step > 0 ? a.ids[step - 1]! : a.job.feed[a.job.feed.length - 1]!;
    return { id: a.ids[step]!, previous, position: visible[row]! + step };
  });
  // The cache up to the fed tokens, then what was sampled in this call.
  const width = positions + step + 1;
  const mask = new Float32Array(rows * width);
  group.forEach((_, row) => {
    mask.fill(MASKED, row * width + visible[row]!, row * width + positions);
  });
  return tf.tidy(() => {
    const attended = working.appender();
    const grid = gridOf(places, rows, 1);
    return outputs(weights, hiddenStates(weights, shape, grid, tf.tensor4d(mask, [rows, 1, 1, width]), attended));
  });
}

/** Token grid of some places; nothing is at `null`, and what is computed there is never read. */
function gridOf(places: readonly (TokenPlace | null)[], rows: number, length: number) {
  const ints = (pick: (place: TokenPlace) => number) =>
    tf.tensor1d(
      Int32Array.from(places, (place) => (place ? pick(place) : 0)),
      'int32',
    );
  return {
    rows,
    length,
    ids: ints((p) => p.id),
    previous: ints((p) => p.previous),
    positions: ints((p) => p.position),
  };
}

/** [B, vocabulary + 1]: log-probs and the value of every row, for one read-back. */
function outputs(weights: Weights, hidden: tf.Tensor2D): tf.Tensor2D {
  return tf.concat([logProbabilities(weights, hidden), tf.reshape(stateValues(weights, hidden), [-1, 1])], 1);
}
