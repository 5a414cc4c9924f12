/** Rates of the matrix products alone. The best of them is the roofline that an update is compared with. */
import type { GpuContext } from '../../gpu/device';
import { compileKernel, type GpuSlice, Recorder, slice4 } from '../../gpu/kernel';
import { matmulPartialFloats } from '../../gpu/kernels/matmul-weight-gradient';
import {
  encodeProduct,
  encodeProductInputGradient,
  encodeProductWeightGradient,
  type ProductName,
  type ProductVariant,
  productVariants,
} from '../../gpu/kernels/products';
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
  readonly product: ProductName;
  readonly variant: ProductVariant;
  readonly record: (recorder: Recorder, buffers: ProductBuffers, sizes: ProductSizes) => void;
}

/** Every product in those of `variants` that the adapter can run; only these are compiled. */
async function compileProducts(
  context: GpuContext,
  variants: readonly ProductVariant[] | undefined,
): Promise<Product[]> {
  const reduce = await compileKernel(context, reducePartials);
  const products: Product[] = [];
  for (const [variant, descriptors] of productVariants(context.adapter)) {
    if (variants && !variants.includes(variant)) continue;
    const [forward, input, partial] = await Promise.all([
      compileKernel(context, descriptors.matmul),
      compileKernel(context, descriptors['matmul-input-gradient']),
      compileKernel(context, descriptors['matmul-weight-gradient']),
    ]);
    products.push(
      {
        product: 'matmul',
        variant,
        record: (recorder, { x, weight, bias, y }, sizes) =>
          encodeProduct(recorder, forward, { x, weight, bias, y }, sizes),
      },
      {
        product: 'matmul-input-gradient',
        variant,
        record: (recorder, { x, weight, y }, sizes) =>
          encodeProductInputGradient(recorder, input, { dy: y, weight, dx: x }, sizes),
      },
      {
        product: 'matmul-weight-gradient',
        variant,
        record: (recorder, { x, y, partials, gradient }, sizes) =>
          encodeProductWeightGradient(
            recorder,
            { partial, reduce },
            { x, dy: y, partials, gradient: { slice: gradient, biasAt: sizes.inputs * sizes.outputs } },
            sizes,
          ),
      },
    );
  }
  return products;
}

/** Measured batches of a product, and the least length of each: submission must not show. */
const BATCHES = 5;
const BATCH_MS = 50;
/** Share of the best rate of a product and size below which another variant is measured once only. */
const HOPELESS = 1 / 3;

/** Operands of a product, filled with small numbers: zeros and denormals may run faster or slower. */
export class ProductBench {
  private readonly buffers: GPUBuffer[] = [];

  constructor(private readonly context: GpuContext) {}

  /**
   * Rate of one product.
   * @param options.hopeless GFLOP/s: a first batch below it is the only one
   * @returns GFLOP/s
   */
  async rate({ record }: Product, sizes: ProductSizes, options: { readonly hopeless?: number } = {}): Promise<Spread> {
    const { hopeless = 0 } = options;
    const { device } = this.context;
    const buffers = this.operands(sizes);
    const run = async (count: number) => {
      const recorder = new Recorder(this.context, 'matmul bench');
      for (let i = 0; i < count; i++) record(recorder, buffers, sizes);
      recorder.submit();
      await device.queue.onSubmittedWorkDone();
    };
    try {
      const count = await batchSize(run, BATCH_MS);
      const flops = 2 * sizes.rows * sizes.inputs * sizes.outputs * count;
      const samples: number[] = [];
      do samples.push(await elapsedMs(() => run(count)));
      while (samples.length < BATCHES && flops / samples[0]! / 1e6 >= hopeless);
      this.context.requireHealthy();
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

/**
 * Measures all products over `sizes`.
 * @param options.variants default all that the adapter can run
 * @param options.onRate called after each
 */
export async function sweepProducts(
  context: GpuContext,
  sizes: readonly ProductSizes[],
  options: {
    readonly variants?: readonly ProductVariant[] | undefined;
    readonly onRate?: (rate: ProductRate) => void;
  } = {},
): Promise<ProductRate[]> {
  const { variants, onRate = () => {} } = options;
  const bench = new ProductBench(context);
  const products = await compileProducts(context, variants);
  const rates: ProductRate[] = [];
  for (const { rows, inputs, outputs } of sizes)
    for (const product of products) {
      const best = rates
        .filter((r) => r.product === product.product && r.rows === rows)
        .filter((r) => r.inputs === inputs && r.outputs === outputs)
        .reduce((most, r) => Math.max(most, r.gflops.median), 0);
      const gflops = await bench.rate(product, { rows, inputs, outputs }, { hopeless: HOPELESS * best });
      const rate = { product: product.product, variant: product.variant, rows, inputs, outputs, gflops };
      rates.push(rate);
      onRate(rate);
    }
  return rates;
}
