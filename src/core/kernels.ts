/** Which kernels a run computes with, and how they were chosen: plain data that run headers, caches and the page share. */

/**
 * Everything about the kernels that results may depend on in their last bits. Stored with a run; the same plan on the same
 * adapter gives the same bits.
 */
export interface KernelPlan {
  /** Variant by kernel; which there are: src/model/webgpu/kernel-choices.ts. */
  readonly choices: Readonly<Record<string, string>>;
  /** Most tokens of a micro-batch. */
  readonly microBatchTokens: number;
  /** Most multiply-adds of one submit of decoding; results do not depend on it. */
  readonly submitMacs: number;
}

/**
 * Why a variant was not measured to the end. `hopeless`: its first run was far slower than the best. `failed`: the driver
 * refused it. `software`: known to be slow on software adapters, so not even compiled. `out-of-time`: compiling the others
 * took too long.
 */
export type TrialSkip = 'hopeless' | 'failed' | 'software' | 'out-of-time';

/** One variant of one kernel in a measured choice. */
export interface KernelTrial {
  readonly kernel: string;
  readonly variant: string;
  readonly chosen: boolean;
  /** Best time of one run of the measured work, ms; null when it never ran. Comparable within a kernel only. */
  readonly ms: number | null;
  /** Time to compile it, ms; null when that was not done or failed. */
  readonly compileMs: number | null;
  readonly skipped: TrialSkip | null;
}

/** A measured choice for one model on one adapter. */
export interface KernelReport {
  /** The model, as `ModelShape`. */
  readonly shape: {
    readonly vocabulary: number;
    readonly dModel: number;
    readonly layers: number;
    readonly heads: number;
    readonly mlp: number;
    readonly positions: number;
    readonly previousToken: boolean;
  };
  readonly plan: KernelPlan;
  readonly trials: readonly KernelTrial[];
  /** Time spent measuring; compiling comes on top. */
  readonly measureMs: number;
  /** ISO 8601. */
  readonly measuredAt: string;
}
