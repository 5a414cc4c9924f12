/** Decoding of many environments at once, a few tokens each, by each path. */
import type { GpuContext } from '../../../gpu/device';
import type { ProductVariant } from '../../../gpu/kernels/products';
import type { DecodeJob } from '../../engine';
import { type ModelShape, parameterLayout } from '../../parameters';
import { Decoder } from '../decode';
import { type DecodePathName, tokenMacs } from '../decode-path';
import { ModelBuffers } from '../model-buffers';
import type { Candidate } from './contest';
import { measuredValues } from './device-work';

const JOBS = 64;
/** Of the comparison with the plain variant. */
const COMPARED_JOBS = 5;
const FED = 6;
const SAMPLED = 3;
/** The last sampled token is never fed. */
const POSITIONS = FED + SAMPLED - 1;

/** A model and the decoders that were tried on it. `dispose` frees them. */
export class DecodeWork {
  /** Multiply-adds of a measured run, counted as those of a submit are. */
  readonly macs: number;
  private readonly model: ModelBuffers;
  private readonly decoders: Decoder[] = [];

  constructor(
    private readonly context: GpuContext,
    private readonly shape: ModelShape,
    /** Variant of the products of the layered path. */
    private readonly product: ProductVariant,
  ) {
    const layout = parameterLayout(shape);
    this.model = new ModelBuffers(context, 'autotune', layout);
    this.model.setParameters(measuredValues(layout.total));
    this.macs = JOBS * POSITIONS * tokenMacs(shape, POSITIONS);
  }

  candidate(path: DecodePathName): Candidate<DecodePathName> {
    const { context, shape, product } = this;
    let decoder: Decoder;
    const run = async (jobs: number) => {
      await decoder.decode(this.model.parameters.buffer, this.jobs(jobs), { key: [1, 1] });
    };
    return {
      variant: path,
      prepare: async () => {
        decoder = await Decoder.create(context, shape, { path, product });
        this.decoders.push(decoder);
        decoder.openSlots(JOBS, Math.min(POSITIONS, shape.positions));
        await run(1);
      },
      result: async () => {
        const done = await decoder.decode(this.model.parameters.buffer, this.jobs(COMPARED_JOBS), { key: [1, 1] });
        return done.flatMap(({ ids, logp, values }) => [...ids, ...logp, ...values]);
      },
      run: async (repeats) => {
        for (let i = 0; i < repeats; i++) await run(JOBS);
      },
    };
  }

  dispose(): void {
    for (const decoder of this.decoders) decoder.dispose();
    this.model.dispose();
  }

  /** Nothing ends early: the stop token is outside the vocabulary. */
  private jobs(count: number): DecodeJob[] {
    const { vocabulary } = this.shape;
    return Array.from({ length: count }, (_, slot) => ({
      slot,
      start: 0,
      feed: Uint32Array.from({ length: FED }, (_, i) => (slot * 31 + i * 7) % vocabulary),
      previous: 0,
      stop: vocabulary,
      cap: SAMPLED,
      stream: slot,
      index: 0,
    }));
  }
}
