/** Chunks of rows for sums over rows: each chunk is summed by itself, then chunks are added in order. */
import type { GpuSlice, Kernel } from '../kernel';

const MIN_CHUNK_ROWS = 256;
const MAX_CHUNKS = 32;

/** A function of the number of rows alone, so that the order of additions is fixed. */
export function rowChunks(rows: number): { chunkRows: number; chunks: number } {
  const chunkRows = Math.max(MIN_CHUNK_ROWS, Math.ceil(rows / MAX_CHUNKS));
  return { chunkRows, chunks: Math.ceil(rows / chunkRows) };
}

/** The two kernels of a sum over rows. */
export interface ChunkedKernels {
  readonly partial: Kernel;
  /** `reduce-partials` */
  readonly reduce: Kernel;
}

/** Where a weight's and its bias's gradients go. */
export interface WeightGradientTarget {
  /** Starts at the weight's gradient and ends after the bias's. */
  readonly slice: GpuSlice;
  /** Start of the bias's gradient in `slice`, in floats. */
  readonly biasAt: number;
}
