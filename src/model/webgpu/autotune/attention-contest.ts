/** Attention forward and backward over packed rows of usual length, by each variant of the kernels. */
import type { GpuContext } from '../../../gpu/device';
import { compileKernel, type Kernel, Recorder, slice4, whole } from '../../../gpu/kernel';
import { attention, encodeAttention } from '../../../gpu/kernels/attention';
import {
  attentionKeyValueGradient,
  encodeAttentionKeyValueGradient,
} from '../../../gpu/kernels/attention-key-value-gradient';
import { attentionQueryGradient, encodeAttentionQueryGradient } from '../../../gpu/kernels/attention-query-gradient';
import { subgroupShape } from '../../../gpu/kernels/subgroup';
import type { ModelShape } from '../../parameters';
import { BufferSet } from '../decode-path';
import type { AttentionVariant } from '../kernel-choices';
import type { Candidate } from './contest';
import { finish, measuredValues, valuesOf } from './device-work';

/** Tokens of a row: the contexts of the learning presets. */
const ROW_TOKENS = 48;
const ROWS = { software: 12, hardware: 128 } as const;

/** Operands of the attention contest. `dispose` frees them. */
export class AttentionWork {
  /** Tokens of a measured run. */
  readonly tokens: number;
  private readonly buffers: BufferSet;

  constructor(
    private readonly context: GpuContext,
    private readonly shape: ModelShape,
  ) {
    this.buffers = new BufferSet(context, 'autotune attention');
    this.tokens = ROW_TOKENS * ROWS[context.adapter.software ? 'software' : 'hardware'];
  }

  candidate(variant: AttentionVariant): Candidate<AttentionVariant> {
    const { context, shape } = this;
    const subgroup = variant === 'subgroup' ? subgroupShape(context.adapter) : undefined;
    let kernels: readonly [Kernel, Kernel, Kernel];
    const run = async (tokens: number, repeats: number) => {
      const recorder = new Recorder(context, 'autotune attention');
      for (let i = 0; i < repeats; i++) this.record(recorder, kernels, tokens);
      recorder.submit();
      await finish(context);
    };
    return {
      variant,
      prepare: async () => {
        const width = shape.dModel / shape.heads;
        const makers = [attention, attentionQueryGradient, attentionKeyValueGradient] as const;
        const [forward, query, keyValue] = await Promise.all(
          makers.map((make) => compileKernel(context, make(width, subgroup))),
        );
        kernels = [forward!, query!, keyValue!];
        await run(ROW_TOKENS, 1);
      },
      run: (repeats) => run(this.tokens, repeats),
      result: async () => {
        // What an earlier variant wrote must not pass for this one's.
        for (const [name, buffer] of this.made)
          if (name !== 'records') context.device.queue.writeBuffer(buffer, 0, measuredValues(buffer.size / 4));
        await run(2 * ROW_TOKENS, 1);
        const { dModel } = shape;
        return valuesOf(context, [
          slice4(this.floats('out', dModel), 0, 2 * ROW_TOKENS * dModel),
          slice4(this.floats('dqkv', 3 * dModel), 0, 2 * ROW_TOKENS * 3 * dModel),
        ]);
      },
    };
  }

  dispose(): void {
    this.buffers.dispose();
  }

  private record(
    recorder: Recorder,
    [forward, query, keyValue]: readonly [Kernel, Kernel, Kernel],
    tokens: number,
  ): void {
    const { heads, dModel } = this.shape;
    const sizes = { tokens, heads, dModel };
    const slices = {
      records: whole(this.records()),
      qkv: whole(this.floats('qkv', 3 * dModel)),
      out: whole(this.floats('out', dModel)),
      lse: whole(this.floats('lse', heads)),
      dout: whole(this.floats('dout', dModel)),
      dqkv: whole(this.floats('dqkv', 3 * dModel)),
      delta: whole(this.floats('delta', heads)),
    };
    encodeAttention(recorder, forward, slices, sizes);
    encodeAttentionQueryGradient(recorder, query, slices, sizes);
    encodeAttentionKeyValueGradient(recorder, keyValue, slices, sizes);
  }

  private floats(name: string, perToken: number): GPUBuffer {
    return this.filled(name, () => measuredValues(this.tokens * perToken));
  }

  /** [tokens] token, previous token, position, end of the row. */
  private records(): GPUBuffer {
    return this.filled('records', () =>
      Uint32Array.from({ length: 4 * this.tokens }, (_, i) => {
        const [token, field] = [i >> 2, i & 3];
        const position = token % ROW_TOKENS;
        return [0, 0, position, token - position + ROW_TOKENS][field]!;
      }),
    );
  }

  private filled(name: string, values: () => Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>): GPUBuffer {
    const known = this.made.get(name);
    if (known) return known;
    const data = values();
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const buffer = this.buffers.ensure(name, data.byteLength, usage);
    this.context.device.queue.writeBuffer(buffer, 0, data);
    this.made.set(name, buffer);
    return buffer;
  }
  private readonly made = new Map<string, GPUBuffer>();
}
