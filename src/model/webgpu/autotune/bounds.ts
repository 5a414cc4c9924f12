/** How much work a submit may hold, from measured rates: about 100 ms, so that the desktop stays smooth. Pure. */
import type { ModelShape } from '../../parameters';
import { blockProducts, headProduct, productMacs } from './product-contest';

/** What a submit should last, ms. */
export const SUBMIT_MS = 100;

/** Limits of the bounds: below, overhead rules; above, rates of another size would be trusted too far. */
const SUBMIT_MACS = { least: 2 ** 24, most: 2 ** 33 } as const;
const MICRO_BATCH = { least: 256, most: 2 ** 18 } as const;

/** The power of two below: a bound changes results in their last bits, so a slightly other measurement must not change it. */
function steady(value: number, { least, most }: { readonly least: number; readonly most: number }): number {
  return 2 ** Math.floor(Math.log2(Math.min(most, Math.max(least, value))));
}

/** @param macsPerMs multiply-adds of decoding per millisecond */
export function submitMacsFor(macsPerMs: number): number {
  return steady(macsPerMs * SUBMIT_MS, SUBMIT_MACS);
}

/** Measured rates of the chosen kernels. */
export interface TrainingRates {
  /** Multiply-adds per millisecond of each product. */
  readonly forward: number;
  readonly inputGradient: number;
  readonly weightGradient: number;
  /** Forward and backward of attention in one block, ms per token. */
  readonly attentionMs: number;
}

/**
 * Most tokens of a micro-batch. A submit is a block's forward pass, its backward pass, or the head with its gradient; every
 * token may be trainable.
 */
export function microBatchTokensFor(shape: ModelShape, rates: TrainingRates): number {
  const block = productMacs(blockProducts(shape));
  const head = productMacs([headProduct(shape)]);
  const backward = 1 / rates.inputGradient + 1 / rates.weightGradient;
  const tokenMs = Math.max(block * backward + rates.attentionMs, head * (1 / rates.forward + backward));
  return steady(SUBMIT_MS / tokenMs, MICRO_BATCH);
}
