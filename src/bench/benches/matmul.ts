/** Matrix products of the two models and larger ones; the best rate is this adapter's roofline. */
import type { ProductVariant } from '../../gpu/kernels/products';
import { bestOf, largeProducts, type ProductSizes, sweepProducts } from '../../run/measure/matmul-rate';
import { nameOption, namesOption, usageError } from '../arguments';
import type { Bench } from '../bench';
import { withDevice } from '../device';
import { spreadText } from '../table';

/** [inputs, outputs]: quick's qkv, projection, MLP in and out, language head; then those of d128; then larger. */
const matrices = [
  [32, 96],
  [32, 32],
  [32, 64],
  [64, 32],
  [32, 256],
  [128, 384],
  [128, 128],
  [128, 512],
  [512, 128],
  [128, 256],
  [256, 256],
] as const;
const rowCounts = [256, 1024, 4096, 8192];

const variants = ['registers', 'subgroup', 'tiled'] as const satisfies readonly ProductVariant[];

const sweeps: Record<'all' | 'large', readonly ProductSizes[]> = {
  all: rowCounts.flatMap((rows) => matrices.map(([inputs, outputs]) => ({ rows, inputs, outputs }))),
  large: largeProducts,
};

const matmul: Bench = {
  name: 'matmul',
  summary: 'GFLOP/s of the three matrix products of training; the best is the roofline',
  options: {
    sizes: { help: 'all or large (default all)' },
    variant: { help: `${variants.join(', ')} (default each that the adapter can run)` },
  },
  run(run) {
    const sizes = nameOption(run, 'sizes', 'all', ['all', 'large'] as const);
    return withDevice(async (context, adapter) => {
      const rates = await sweepProducts(context, sweeps[sizes], {
        variants: run.options.variant === undefined ? undefined : namesOption(run, 'variant', variants),
        onRate: (r) =>
          run.note(`${r.product} ${r.rows}×${r.inputs}×${r.outputs} ${r.variant}: ${spreadText(r.gflops)} GFLOP/s`),
      });
      if (rates.length === 0) throw usageError('Nothing to measure', 'a --variant that this adapter can run', adapter);
      const best = bestOf(rates);
      return {
        adapter,
        values: { unit: 'GFLOP/s', roofline: best, rates },
        table: [
          ['product', 'variant', 'rows', 'inputs', 'outputs', 'GFLOP/s: median (min–max)'],
          ...rates.map((r) => [r.product, r.variant, `${r.rows}`, `${r.inputs}`, `${r.outputs}`, spreadText(r.gflops)]),
        ],
        remarks: [
          `roofline: ${spreadText(best.gflops)} GFLOP/s, ${best.product} ${best.rows}×${best.inputs}×${best.outputs}`,
        ],
      };
    });
  },
};
export default matmul;
