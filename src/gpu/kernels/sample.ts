import code from '../../../shaders/sample.wgsl?raw';
import threefry from '../../../shaders/threefry.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';

export const sample: KernelDescriptor = {
  name: 'sample',
  code: `${threefry}\n${code}`,
  bindings: ['read', 'read', 'read', 'write', 'write', 'params'],
};

/** u32 words of a job record of the sample kernel. */
export const SAMPLE_JOB_WORDS = 8;

/** Slot of a finished job's record. */
export const NO_SLOT = 0xffffffff;

const LANES = 8;

/** Samples one token for jobs first … first + rows and leaves the next rows to feed in `records`. */
export function encodeSample(
  recorder: Recorder,
  kernel: Kernel,
  slices: {
    /** [rows, vocabulary] */
    readonly logits: GpuSlice;
    /** [rows] */
    readonly values: GpuSlice;
    /** [jobs, SAMPLE_JOB_WORDS] */
    readonly jobs: GpuSlice;
    /** [jobs] vec4u (token, previous, position, slot), in and out. */
    readonly records: GpuSlice;
    /** vec4u (id, log-prob bits, value bits, 0) a sample, out. */
    readonly results: GpuSlice;
  },
  sizes: {
    readonly rows: number;
    readonly first: number;
    readonly vocabulary: number;
    readonly key: readonly [number, number];
  },
): void {
  recorder.dispatch(
    kernel,
    [slices.logits, slices.values, slices.jobs, slices.records, slices.results],
    [sizes.rows, sizes.first, sizes.vocabulary / 4, sizes.key[0], sizes.key[1]],
    [Math.ceil(sizes.rows / LANES)],
  );
}
