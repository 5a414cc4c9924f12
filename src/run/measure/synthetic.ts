/** Work for measurements: optimiser steps and decoding with the sizes of real ones, from random tokens. */
import { RandomStream } from '../../core/rng';
import type { DecodeJob, DecodeResult, LossOptions, OptimiserOptions, UpdateBatch } from '../../model/engine';
import type { ModelShape } from '../../model/parameters';

const MIN_ROW = 20;
const MAX_ROW = 64;

/** The loss of the learning presets. */
export const measuredLoss: LossOptions = {
  objective: 'ppo',
  lossNorm: 'token',
  trainSummary: true,
  policyCoef: 1,
  valueCoef: 0.1,
  entropyCoef: 0.001,
  klCoef: 0,
  clip: 0.2,
  valueClip: 0,
};

/** A small step: repeated updates on one batch must not run away. */
export const measuredOptimiser: OptimiserOptions = {
  learningRate: 1e-5,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  gradClip: 1,
};

/** Where a row's trainable tokens lie: a prompt, then actions of 2–6 tokens and observations of 8–16, an action last. */
function trainableIn(random: RandomStream, length: number): number[] {
  const places: number[] = [];
  for (let end = length; ; ) {
    const action = Math.min(2 + random.integer(5), end - 1);
    for (let i = end - action; i < end; i++) places.push(i);
    end -= action + 8 + random.integer(9);
    if (end < 4) return places.sort((a, b) => a - b);
  }
}

/**
 * One optimiser step's batch: rows of 20–64 tokens, about a quarter of them trainable, three rows a rollout with a
 * summary in the middle. Old log-probs lie around those of a fresh policy, so that some ratios are clipped.
 * @param minTokens rows are added until there are at least as many tokens, trainable or not
 */
export function syntheticBatch(shape: ModelShape, minTokens: number, seed = 1): UpdateBatch {
  const random = new RandomStream(seed, 'test', 0);
  const ids: number[] = [];
  const rowStart = [0];
  const trainable: number[] = [];
  const trainableStart = [0];
  while (ids.length < minTokens) {
    const at = ids.length;
    const length = MIN_ROW + random.integer(MAX_ROW - MIN_ROW + 1);
    for (let i = 0; i < length; i++) ids.push(random.integer(shape.vocabulary));
    for (const place of trainableIn(random, length)) trainable.push(at + place);
    rowStart.push(ids.length);
    trainableStart.push(trainable.length);
  }
  const rows = rowStart.length - 1;
  const normals = (mean: number, deviation: number) =>
    Float32Array.from(trainable, () => mean + deviation * random.normal());
  return {
    ids: Uint32Array.from(ids),
    rowStart: Uint32Array.from(rowStart),
    trainable: Uint32Array.from(trainable),
    trainableStart: Uint32Array.from(trainableStart),
    kind: Uint8Array.from({ length: rows }, (_, r) => (r % 3 === 1 ? 1 : 0)),
    rollout: Uint32Array.from({ length: rows }, (_, r) => Math.floor(r / 3)),
    oldLogp: normals(-Math.log(shape.vocabulary), 0.2),
    advantages: normals(0, 1),
    targets: normals(0.5, 0.5),
    oldValues: normals(0.5, 0.5),
  };
}

/** Context of a decoding environment before it starts anew, as in the `quick` preset. */
export const DECODE_WINDOW = 64;
/** Calls in which an environment fills its window. */
export const DECODE_CALLS = 3;

interface Seat {
  /** Cache positions that hold tokens. */
  filled: number;
  /** Token at the last of them. */
  previous: number;
  /** Sampled last, not fed yet. */
  pending: number | null;
  sampled: number;
}

/**
 * Environments that fill their windows in `DECODE_CALLS` calls, each feeding 10–17 tokens (the command's output, the next
 * prompt) and sampling 4–8. Nothing ends early: the stop token is outside the vocabulary and the caps vary instead, so
 * that the amount of work is the same in every window, whatever is sampled.
 */
export class DecodeScript {
  /** Tokens fed and sampled so far. */
  tokens = 0;
  private call = 0;
  private readonly random: RandomStream;
  private readonly seats: Seat[];
  /** [call of the window][environment] */
  private readonly sizes: readonly { readonly cap: number; readonly feedCount: number }[][];

  constructor(
    private readonly shape: ModelShape,
    environments: number,
    seed = 1,
  ) {
    this.random = new RandomStream(seed, 'test', 1);
    this.seats = Array.from({ length: environments }, () => ({ filled: 0, previous: 0, pending: null, sampled: 0 }));
    this.sizes = Array.from({ length: DECODE_CALLS }, () =>
      this.seats.map(() => {
        const cap = 4 + this.random.integer(5);
        // Each call takes a third of the window at most.
        return {
          cap,
          feedCount: Math.min(10 + this.random.integer(9), Math.floor(DECODE_WINDOW / DECODE_CALLS) - cap),
        };
      }),
    );
  }

  /** The jobs of the next call; give their results to `accept` before the one after. */
  jobs(): DecodeJob[] {
    const sizes = this.sizes[this.call++ % DECODE_CALLS]!;
    const fresh = sizes === this.sizes[0];
    return this.seats.map((seat, slot) => {
      if (fresh) Object.assign(seat, { filled: 0, pending: null });
      const { cap, feedCount } = sizes[slot]!;
      const feed = Uint32Array.from({ length: feedCount }, () => this.random.integer(this.shape.vocabulary));
      if (seat.pending !== null) feed[0] = seat.pending;
      return {
        slot,
        start: seat.filled,
        feed,
        previous: seat.previous,
        stop: this.shape.vocabulary,
        cap,
        stream: slot,
        index: seat.sampled,
      };
    });
  }

  accept(jobs: readonly DecodeJob[], results: readonly DecodeResult[]): void {
    jobs.forEach(({ slot, start, feed }, j) => {
      const { ids } = results[j]!;
      const seat = this.seats[slot]!;
      seat.filled = start + feed.length + ids.length - 1;
      seat.previous = ids.length > 1 ? ids[ids.length - 2]! : feed[feed.length - 1]!;
      seat.pending = ids[ids.length - 1]!;
      seat.sampled += ids.length;
      this.tokens += feed.length + ids.length;
    });
  }
}
