/** One model on the device: parameters, and optimiser moments once it is trained. */
import { LabError } from '../../core/errors';
import type { GpuContext } from '../../gpu/device';
import { type GpuSlice, readBack } from '../../gpu/kernel';
import type { WeightGradientTarget } from '../../gpu/kernels/row-chunks';
import { MODEL_SLACK_BYTES } from '../../gpu/kernels/weight-windows';
import type { OptimiserState } from '../engine';
import type { ParameterLayout } from '../parameters';

/** Slices of one flat buffer (parameters or gradient) by tensor name. */
export class FlatTensors {
  constructor(
    readonly buffer: GPUBuffer,
    readonly layout: ParameterLayout,
  ) {}
  /** All floats of the layout, without the slack after them. */
  get all(): GpuSlice {
    return { buffer: this.buffer, offset: 0, size: this.layout.total * 4 };
  }
  tensor(name: string): GpuSlice {
    const { offset, size } = this.entry(name);
    return { buffer: this.buffer, offset: offset * 4, size: size * 4 };
  }
  /** `<name>.weight` and `<name>.bias` as one range, for a gradient kernel that writes both. */
  pair(name: string): WeightGradientTarget {
    const weight = this.entry(`${name}.weight`);
    const bias = this.entry(`${name}.bias`);
    const floats = bias.offset + bias.size - weight.offset;
    return {
      slice: { buffer: this.buffer, offset: weight.offset * 4, size: floats * 4 },
      biasAt: bias.offset - weight.offset,
    };
  }
  private entry(name: string) {
    const entry = this.layout.byName.get(name);
    if (!entry) throw new RangeError(`no parameter named ${name}`);
    return entry;
  }
}

/** Parameters and Adam moments of one role. `dispose` frees them. */
export class ModelBuffers {
  readonly parameters: FlatTensors;
  private moments: { readonly m: FlatTensors; readonly v: FlatTensors } | undefined;
  /** Optimiser steps taken. */
  step = 0;

  constructor(
    private readonly context: GpuContext,
    private readonly label: string,
    private readonly layout: ParameterLayout,
  ) {
    this.parameters = this.flat('parameters', MODEL_SLACK_BYTES, GPUBufferUsage.UNIFORM);
  }

  get bytes(): number {
    const { m, v } = this.moments ?? {};
    return this.parameters.buffer.size + (m?.buffer.size ?? 0) + (v?.buffer.size ?? 0);
  }

  /** Moments, zero until a step is taken; allocated when first asked for, as frozen models need none. */
  optimiser(): { readonly m: FlatTensors; readonly v: FlatTensors } {
    this.moments ??= { m: this.flat('adam m'), v: this.flat('adam v') };
    return this.moments;
  }

  /** Overwrites the parameters and zeroes the optimiser. */
  setParameters(values: Float32Array): void {
    this.write(this.parameters, values, 'parameters');
    this.step = 0;
    if (!this.moments) return;
    const encoder = this.context.device.createCommandEncoder({ label: 'clear optimiser' });
    for (const { buffer } of [this.moments.m, this.moments.v]) encoder.clearBuffer(buffer);
    this.context.device.queue.submit([encoder.finish()]);
  }

  async getParameters(): Promise<Float32Array> {
    const [bytes] = await readBack(this.context, [this.parameters.all]);
    return new Float32Array(bytes!);
  }

  setOptimiser(state: OptimiserState): void {
    if (!Number.isInteger(state.step) || state.step < 0)
      throw new LabError({
        code: 'model.optimiser',
        what: 'An optimiser state has a bad step count',
        where: `${this.label}.step`,
        expected: 'an integer ≥ 0',
        got: String(state.step),
      });
    const { m, v } = this.optimiser();
    this.write(m, state.m, 'optimiser m');
    this.write(v, state.v, 'optimiser v');
    this.step = state.step;
  }

  async getOptimiser(): Promise<OptimiserState> {
    const { total } = this.layout;
    if (!this.moments) return { m: new Float32Array(total), v: new Float32Array(total), step: this.step };
    const [m, v] = await readBack(this.context, [this.moments.m.all, this.moments.v.all]);
    return { m: new Float32Array(m!), v: new Float32Array(v!), step: this.step };
  }

  dispose(): void {
    this.context.destroyBuffer(this.parameters.buffer);
    if (this.moments) for (const { buffer } of Object.values(this.moments)) this.context.destroyBuffer(buffer);
    this.moments = undefined;
  }

  private flat(name: string, slack = 0, usage = 0): FlatTensors {
    const all = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST | usage;
    return new FlatTensors(
      this.context.createBuffer(`${this.label} ${name}`, this.layout.total * 4 + slack, all),
      this.layout,
    );
  }

  private write(to: FlatTensors, values: Float32Array, what: string): void {
    if (values.length !== this.layout.total)
      throw new LabError({
        code: 'model.size',
        what: `The ${what} of the model have the wrong size`,
        where: this.label,
        expected: `${this.layout.total} floats`,
        got: `${values.length}`,
        fix: 'The checkpoint belongs to a model of another shape.',
      });
    this.context.device.queue.writeBuffer(to.buffer, 0, values as Float32Array<ArrayBuffer>);
  }
}
