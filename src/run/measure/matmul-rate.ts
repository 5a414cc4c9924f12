/** Rates of the matrix products alone. The best of them is the roofline that an update is compared with. */
import type { GpuContext } from '../../gpu/device';
import { compileKernel, type GpuSlice, Recorder, slice4 } from '../../gpu/kernel';
import { encodeMatmul, matmul } from '../../gpu/kernels/matmul';
import { encodeMatmulInputGradient, matmulInputGradient } from '../../gpu/kernels/matmul-input-gradient';
import {
  encodeMatmulWeightGradient,
  matmulPartialFloats,
  matmulWeightGradient,
} from '../../gpu/kernels/matmul-weight-gradient';
import { reducePartials } from '../../gpu/kernels/reduce-partials';
import { MODEL_SLACK_BYTES } from '../../gpu/kernels/weight-windows';
import { batchSize, elapsedMs, mapSpread, type Spread, spreadOf } from './rounds';

/** x [rows, inputs] times W [inputs, outputs]. */
export interface ProductSizes {
  readonly rows: number;
  readonly inputs: number;
  readonly outputs: number;
}

interface ProductBuffers {
  readonly x: GpuSlice;
  readonly weight: GpuSlice;
  readonly bias: GpuSlice;
  readonly y: GpuSlice;
  readonly partials: GpuSlice;
  readonly gradient: GpuSlice;
}

/** One of the three products of training, by one variant of its kernel. */
export interface Product {
  readonly product: 'forward' | 'input-gradient' | 'weight-gradient';
  readonly variant: string;
  readonly record: (recorder: Recorder, buffers: ProductBuffers, sizes: ProductSizes) => void;
}

/** Every product in every variant; the one place of the benchmarks that knows how the kernels are called. */
export async function compileProducts(context: GpuContext): Promise<Product[]> {
  const [forward, input, partial, reduce] = await Promise.all([
    compileKernel(context, matmul),
    compileKernel(context, matmulInputGradient),
    compileKernel(context, matmulWeightGradient),
    compileKernel(context, reducePartials),
  ]);
  const variant = 'tiled';
  return [
    {
      product: 'forward',
      variant,
      record: (recorder, { x, weight, bias, y }, sizes) =>
        encodeMatmul(recorder, forward, { x, weight, bias, y }, sizes),
    },
    {
      product: 'input-gradient',
      variant,
      record: (recorder, { x, weight, y }, sizes) =>
        encodeMatmulInputGradient(recorder, input, { dy: y, weight, dx: x }, sizes),
    },
    {
      product: 'weight-gradient',
      variant,
      record: (recorder, { x, y, partials, gradient }, sizes) =>
        encodeMatmulWeightGradient(
          recorder,
          { partial, reduce },
          { x, dy: y, partials, gradient: { slice: gradient, biasAt: sizes.inputs * sizes.outputs } },
          sizes,
        ),
    },
  ];
}

/** Operands for sizes up to `largest`, filled with small numbers: zeros and denormals may run faster or slower. */
export class ProductBench {
  private readonly buffers: GPUBuffer[] = [];

  constructor(private readonly context: GpuContext) {}

  /**
   * Rate of one product.
   * @param batches measured batches, each at least `batchMs` long, so that submission does not show
   * @returns GFLOP/s
   */
  async rate(
    { record }: Product,
    sizes: ProductSizes,
    { batches = 5, batchMs = 50 }: { readonly batches?: number; readonly batchMs?: number } = {},
  ): Promise<Spread> {
    const { device } = this.context;
    const buffers = this.operands(sizes);
    const run = async (count: number) => {
      const recorder = new Recorder(this.context, 'matmul bench');
      for (let i = 0; i < count; i++) record(recorder, buffers, sizes);
      recorder.submit();
      await device.queue.onSubmittedWorkDone();
    };
    try {
      const count = await batchSize(run, batchMs);
      const samples: number[] = [];
      for (let i = 0; i < batches; i++) samples.push(await elapsedMs(() => run(count)));
      this.context.requireHealthy();
      const flops = 2 * sizes.rows * sizes.inputs * sizes.outputs * count;
      return mapSpread(spreadOf(samples), (ms) => flops / ms / 1e6);
    } finally {
      for (const buffer of this.buffers.splice(0)) this.context.destroyBuffer(buffer);
    }
  }

  private operands({ rows, inputs, outputs }: ProductSizes): ProductBuffers {
    const make = (count: number, usage = 0, slack = 0) => {
      const all = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | usage;
      const buffer = this.context.createBuffer('matmul bench', count * 4 + slack, all);
      this.buffers.push(buffer);
      // Mean 0 and so small that accumulating products stays finite.
      const values = Float32Array.from({ length: count }, (_, i) => ((i % 7) - 3) / 1000);
      this.context.device.queue.writeBuffer(buffer, 0, values);
      return slice4(buffer, 0, count);
    };
    return {
      x: make(rows * inputs),
      weight: make(inputs * outputs, GPUBufferUsage.UNIFORM, MODEL_SLACK_BYTES),
      bias: make(outputs),
      y: make(rows * outputs),
      partials: make(matmulPartialFloats(rows, inputs, outputs)),
      gradient: make((inputs + 1) * outputs),
    };
  }
}

/** Products large enough to reach what the adapter can do. */
export const largeProducts: readonly ProductSizes[] = [
  { rows: 4096, inputs: 128, outputs: 128 },
  { rows: 4096, inputs: 128, outputs: 512 },
  { rows: 4096, inputs: 512, outputs: 128 },
  { rows: 4096, inputs: 256, outputs: 256 },
];

/** One row of a sweep. */
export interface ProductRate extends ProductSizes {
  readonly product: Product['product'];
  readonly variant: string;
  readonly gflops: Spread;
}

/** The best median rate of a sweep: what this adapter reaches with any of our kernels. @param rates at least one */
export function bestOf(rates: readonly ProductRate[]): ProductRate {
  return rates.reduce((a, b) => (b.gflops.median > a.gflops.median ? b : a));
}

/** Measures all products over `sizes`. @param onRate called after each */
export async function sweepProducts(
  context: GpuContext,
  sizes: readonly ProductSizes[],
  onRate: (rate: ProductRate) => void = () => {},
): Promise<ProductRate[]> {
  const bench = new ProductBench(context);
  const products = await compileProducts(context);
  const rates: ProductRate[] = [];
  for (const { rows, inputs, outputs } of sizes)
    for (const product of products) {
      const gflops = await bench.rate(product, { rows, inputs, outputs });
      const rate = { product: product.product, variant: product.variant, rows, inputs, outputs, gflops };
      rates.push(rate);
      onRate(rate);
    }
  return rates;
}
