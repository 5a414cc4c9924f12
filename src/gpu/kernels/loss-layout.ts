/**
 * How one optimiser step's loss lies in device memory. Whole-step arrays are packed into few buffers because a stage has
 * eight storage bindings: `planes` holds seven arrays of P floats, `rows` the three integer arrays of the R rows.
 */

import type { LossBatch, LossOptions, LossStats, Numbers } from '../../core/algorithm/algorithm';
import { LabError } from '../../core/errors';
import { WORKGROUP } from './grid';

/** Index of each array of P floats in `planes`. The last two are written by the kernel `loss-weights`. */
export const lossPlanes = {
  oldLogp: 0,
  advantages: 1,
  targets: 2,
  oldValues: 3,
  referenceLogp: 4,
  policyWeight: 5,
  valueWeight: 6,
} as const;
const PLANES = 7;
const COUNT_LANES = 64;
const RECORD_WORDS = 12;
/** Lanes of the first stage of `reduce-stats`. */
const MAX_REDUCE_LANES = 1024;

/** Index of the non-finite count (u32) in the record of `reduce-stats`: Adam leaves the parameters alone unless it is 0. */
export const NON_FINITE_WORD = 10;

/** Lanes of the first stage of `reduce-stats` for P tokens: a multiple of 64, a function of P alone. */
export function reduceLanes(tokens: number): number {
  return Math.min(MAX_REDUCE_LANES, Math.max(WORKGROUP, Math.ceil(tokens / WORKGROUP) * WORKGROUP));
}

/** Bytes of the buffers of one step of R rows and P tokens. */
export interface LossBytes {
  /** Input, from `packLossRows`. */
  readonly rows: number;
  /** Input, from `packLossPlanes`; the weights are written on the device. */
  readonly planes: number;
  /** Scratch of `loss-weights`. */
  readonly counts: number;
  /** Per-token records of `ppo-loss`. */
  readonly stats: number;
  /** Scratch of `reduce-stats`. */
  readonly partials: number;
  /** Output of `reduce-stats`, read by `decodeLossStats`. */
  readonly record: number;
}

/** Bytes of each buffer; all want STORAGE usage, `rows` and `planes` COPY_DST, `record` COPY_SRC. */
export function lossBytes(rows: number, tokens: number): LossBytes {
  return {
    rows: (3 * rows + 1) * 4,
    planes: PLANES * tokens * 4,
    counts: COUNT_LANES * 6 * 4,
    stats: tokens * 32,
    partials: reduceLanes(tokens) * 48,
    record: RECORD_WORDS * 4,
  };
}

/** Kind, rollout and trainableStart one after the other. @returns [3 R + 1] */
export function packLossRows(batch: LossBatch): Uint32Array<ArrayBuffer> {
  const count = batch.kind.length;
  const packed = new Uint32Array(3 * count + 1);
  packed.set(batch.kind, 0);
  packed.set(batch.rollout, count);
  packed.set(batch.trainableStart, 2 * count);
  return packed;
}

/**
 * The per-token inputs, plane by plane; weights and an absent reference are 0.
 * @returns [7 P]
 * @throws `loss.no-reference` when klCoef is not 0 and the batch has no reference log-probs
 */
export function packLossPlanes(batch: LossBatch, options: Pick<LossOptions, 'klCoef'>): Float32Array<ArrayBuffer> {
  const tokens = batch.oldLogp.length;
  if (options.klCoef !== 0 && !batch.referenceLogp)
    throw new LabError({
      code: 'loss.no-reference',
      what: 'The KL term needs log-probs of the reference policy',
      where: 'referenceLogp',
      expected: `${tokens} numbers`,
      got: 'none',
      fix: 'Score the batch with the reference model, or set klCoef to 0.',
    });
  const packed = new Float32Array(PLANES * tokens);
  const put = (plane: number, values: Numbers) => packed.set(values, plane * tokens);
  put(lossPlanes.oldLogp, batch.oldLogp);
  put(lossPlanes.advantages, batch.advantages);
  put(lossPlanes.targets, batch.targets);
  put(lossPlanes.oldValues, batch.oldValues);
  if (batch.referenceLogp) put(lossPlanes.referenceLogp, batch.referenceLogp);
  return packed;
}

/** Reads the record of `reduce-stats`. Checks for NaN and infinity once more, in float64 on the host. */
export function decodeLossStats(record: ArrayBuffer): LossStats {
  const floats = new Float32Array(record, 0, RECORD_WORDS);
  const words = new Uint32Array(record, 0, RECORD_WORDS);
  const loss = floats[0]!;
  return {
    loss,
    policyLoss: floats[1]!,
    valueLoss: floats[2]!,
    entropy: floats[3]!,
    kl: floats[4]!,
    clipFraction: floats[5]!,
    maxRatioError: floats[6]!,
    policyTokens: words[8]!,
    valueTokens: words[9]!,
    nonFinite: words[NON_FINITE_WORD] !== 0 || !Number.isFinite(loss),
  };
}
