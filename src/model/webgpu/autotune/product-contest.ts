/** The matrix products of a model, one of the three forms of them, by each variant of its kernel. */
import type { GpuContext } from '../../../gpu/device';
import { compileKernel, type GpuSlice, type Kernel, Recorder, slice4 } from '../../../gpu/kernel';
import { matmulPartialFloats } from '../../../gpu/kernels/matmul-weight-gradient';
import {
  encodeProduct,
  encodeProductInputGradient,
  encodeProductWeightGradient,
  type ProductName,
  type ProductVariant,
  productVariants,
} from '../../../gpu/kernels/products';
import { reducePartials } from '../../../gpu/kernels/reduce-partials';
import { MODEL_SLACK_BYTES } from '../../../gpu/kernels/weight-windows';
import type { ModelShape } from '../../parameters';
import { BufferSet } from '../decode-path';
import type { Candidate } from './contest';
import { finish, measuredValues, valuesOf } from './device-work';

interface Product {
  readonly inputs: number;
  readonly outputs: number;
}

/** Products of one token in a block: qkv, projection, both layers of the MLP. */
export function blockProducts({ dModel, mlp }: ModelShape): readonly Product[] {
  return [
    { inputs: dModel, outputs: 3 * dModel },
    { inputs: dModel, outputs: dModel },
    { inputs: dModel, outputs: mlp },
    { inputs: mlp, outputs: dModel },
  ];
}

/** Product of one trainable token in the head. */
export function headProduct({ dModel, vocabulary }: ModelShape): Product {
  return { inputs: dModel, outputs: vocabulary };
}

/** Multiply-adds of products, one token. */
export function productMacs(products: readonly Product[]): number {
  return products.reduce((sum, { inputs, outputs }) => sum + inputs * outputs, 0);
}

/** Multiply-adds of a measured run: milliseconds on the adapter, so that a few rounds stay short. */
const RUN_MACS = { software: 2 ** 25, hardware: 2 ** 29 } as const;
const ROWS = { least: 128, most: 1024 } as const;
const PREPARE_ROWS = 16;
/** Of the comparison with the plain variant: no multiple of a tile. */
const COMPARED_ROWS = 70;

/** Operands and work that all product contests of a model share. `dispose` frees them. */
export class ProductWork {
  /** Rows of a measured run. */
  readonly rows: number;
  /** Multiply-adds of a measured run. */
  readonly macs: number;
  private readonly products: readonly Product[];
  private readonly buffers: BufferSet;
  private readonly widest: number;

  constructor(
    private readonly context: GpuContext,
    shape: ModelShape,
  ) {
    this.buffers = new BufferSet(context, 'autotune products');
    this.products = [...blockProducts(shape), headProduct(shape)];
    const perRow = productMacs(this.products);
    const wanted = Math.floor(RUN_MACS[context.adapter.software ? 'software' : 'hardware'] / perRow);
    this.rows = Math.min(ROWS.most, Math.max(ROWS.least, wanted));
    this.macs = this.rows * perRow;
    this.widest = this.products.reduce((n, { inputs, outputs }) => Math.max(n, inputs, outputs), 0);
  }

  /** The work of `name` by a variant that the adapter has. */
  candidate(name: ProductName, variant: ProductVariant): Candidate<ProductVariant> {
    const { context } = this;
    let kernels: { readonly product: Kernel; readonly reduce: Kernel };
    const run = async (rows: number, repeats: number) => {
      const recorder = new Recorder(context, `autotune ${name}`);
      for (let i = 0; i < repeats; i++)
        for (const product of this.products) this.record(recorder, name, kernels, product, rows);
      recorder.submit();
      await finish(context);
    };
    return {
      variant,
      prepare: async () => {
        const [product, reduce] = await Promise.all([
          compileKernel(context, productVariants(context.adapter).get(variant)![name]),
          compileKernel(context, reducePartials),
        ]);
        kernels = { product, reduce };
        await run(PREPARE_ROWS, 1);
      },
      run: (repeats) => run(this.rows, repeats),
      result: () => this.result(name, kernels),
    };
  }

  dispose(): void {
    this.buffers.dispose();
  }

  /** Results of all products, each from operands as they were made. */
  private async result(
    name: ProductName,
    kernels: { readonly product: Kernel; readonly reduce: Kernel },
  ): Promise<Float32Array> {
    const all: number[] = [];
    for (const product of this.products) {
      for (const { buffer, size } of this.made.values())
        this.context.device.queue.writeBuffer(buffer, 0, measuredValues(size / 4));
      const recorder = new Recorder(this.context, `compare ${name}`);
      const out = this.record(recorder, name, kernels, product, COMPARED_ROWS);
      recorder.submit();
      for (const value of await valuesOf(this.context, [out])) all.push(value);
    }
    return Float32Array.from(all);
  }

  /** @returns what it writes */
  private record(
    recorder: Recorder,
    name: ProductName,
    { product, reduce }: { readonly product: Kernel; readonly reduce: Kernel },
    { inputs, outputs }: Product,
    rows: number,
  ): GpuSlice {
    const sizes = { rows, inputs, outputs };
    const weight = this.operand('weight', this.widest * this.widest, GPUBufferUsage.UNIFORM);
    const x = slice4(this.operand('x', this.rows * this.widest).buffer, 0, rows * inputs);
    const y = slice4(this.operand('y', this.rows * this.widest).buffer, 0, rows * outputs);
    if (name === 'matmul') {
      const bias = slice4(this.operand('bias', this.widest).buffer, 0, outputs);
      encodeProduct(recorder, product, { x, weight, bias, y }, sizes);
      return y;
    }
    if (name === 'matmul-input-gradient') {
      encodeProductInputGradient(recorder, product, { dy: y, weight, dx: x }, sizes);
      return x;
    }
    const floats = (count: number) => matmulPartialFloats(this.rows, this.widest, count);
    const partials = this.operand('partials', floats(this.widest));
    const gradient = this.operand('gradient', (this.widest + 1) * this.widest);
    encodeProductWeightGradient(
      recorder,
      { partial: product, reduce },
      { x, dy: y, partials, gradient: { slice: gradient, biasAt: inputs * outputs } },
      sizes,
    );
    return slice4(gradient.buffer, 0, (inputs + 1) * outputs);
  }

  /** A buffer of small numbers; kept once made. */
  private operand(name: string, floats: number, usage = 0): GpuSlice {
    const known = this.made.get(name);
    if (known) return known;
    const slack = usage === 0 ? 0 : MODEL_SLACK_BYTES;
    const all = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC | usage;
    const buffer = this.buffers.ensure(name, floats * 4 + slack, all);
    this.context.device.queue.writeBuffer(buffer, 0, measuredValues(floats));
    const slice = slice4(buffer, 0, floats);
    this.made.set(name, slice);
    return slice;
  }
  private readonly made = new Map<string, GpuSlice>();
}
