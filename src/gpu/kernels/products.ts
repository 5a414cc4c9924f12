/**
 * The matrix products of training in every variant, called the same way. A compiled kernel's name says how it is
 * dispatched.
 */
import type { AdapterSummary } from '../device';
import type { Kernel, KernelDescriptor } from '../kernel';
import { encodeMatmul, matmul } from './matmul';
import { encodeMatmulInputGradient, matmulInputGradient } from './matmul-input-gradient';
import { encodeMatmulInputGradientSubgroup, matmulInputGradientSubgroup } from './matmul-input-gradient-subgroup';
import { encodeMatmulInputGradientTiled, matmulInputGradientTiled } from './matmul-input-gradient-tiled';
import { encodeMatmulSubgroup, matmulSubgroup } from './matmul-subgroup';
import { encodeMatmulTiled, matmulTiled } from './matmul-tiled';
import { encodeMatmulWeightGradient, matmulWeightGradient } from './matmul-weight-gradient';
import { encodeMatmulWeightGradientSubgroup, matmulWeightGradientSubgroup } from './matmul-weight-gradient-subgroup';
import { encodeMatmulWeightGradientTiled, matmulWeightGradientTiled } from './matmul-weight-gradient-tiled';
import { subgroupShape } from './subgroup';

/**
 * `registers`: tiles in registers, weights through uniform windows; runs everywhere. `subgroup`: tiles in registers, weights
 * handed round the subgroup; for software adapters above all. `tiled`: tiles in workgroup memory; for hardware.
 */
export type ProductVariant = 'registers' | 'subgroup' | 'tiled';

/** y = x W + b and its two backward forms. */
export const productNames = ['matmul', 'matmul-input-gradient', 'matmul-weight-gradient'] as const;
export type ProductName = (typeof productNames)[number];

export type ProductDescriptors = Readonly<Record<ProductName, KernelDescriptor>>;

/** The variants an adapter can run. */
export function productVariants(
  adapter: Pick<AdapterSummary, 'features' | 'subgroupMinSize'>,
): ReadonlyMap<ProductVariant, ProductDescriptors> {
  const variants = new Map<ProductVariant, ProductDescriptors>([
    [
      'registers',
      {
        matmul,
        'matmul-input-gradient': matmulInputGradient,
        'matmul-weight-gradient': matmulWeightGradient,
      },
    ],
    [
      'tiled',
      {
        matmul: matmulTiled,
        'matmul-input-gradient': matmulInputGradientTiled,
        'matmul-weight-gradient': matmulWeightGradientTiled,
      },
    ],
  ]);
  const subgroup = subgroupShape(adapter);
  if (subgroup)
    variants.set('subgroup', {
      matmul: matmulSubgroup(subgroup),
      'matmul-input-gradient': matmulInputGradientSubgroup(subgroup),
      'matmul-weight-gradient': matmulWeightGradientSubgroup(subgroup),
    });
  return variants;
}

const forward: Readonly<Record<string, typeof encodeMatmul>> = {
  matmul: encodeMatmul,
  'matmul-subgroup': encodeMatmulSubgroup,
  'matmul-tiled': encodeMatmulTiled,
};
const inputGradient: Readonly<Record<string, typeof encodeMatmulInputGradient>> = {
  'matmul-input-gradient': encodeMatmulInputGradient,
  'matmul-input-gradient-subgroup': encodeMatmulInputGradientSubgroup,
  'matmul-input-gradient-tiled': encodeMatmulInputGradientTiled,
};
const weightGradient: Readonly<Record<string, typeof encodeMatmulWeightGradient>> = {
  'matmul-weight-gradient': encodeMatmulWeightGradient,
  'matmul-weight-gradient-subgroup': encodeMatmulWeightGradientSubgroup,
  'matmul-weight-gradient-tiled': encodeMatmulWeightGradientTiled,
};

function encoder<T>(encoders: Readonly<Record<string, T>>, { descriptor }: Kernel): T {
  const encode = encoders[descriptor.name];
  if (!encode) throw new RangeError(`${descriptor.name} is not a variant of ${Object.keys(encoders)[0]}`);
  return encode;
}

/** `encodeMatmul` in the variant that `kernel` is. */
export const encodeProduct: typeof encodeMatmul = (recorder, kernel, ...rest) =>
  encoder(forward, kernel)(recorder, kernel, ...rest);

/** `encodeMatmulInputGradient` in the variant that `kernel` is. */
export const encodeProductInputGradient: typeof encodeMatmulInputGradient = (recorder, kernel, ...rest) =>
  encoder(inputGradient, kernel)(recorder, kernel, ...rest);

/** `encodeMatmulWeightGradient` in the variant that `kernels.partial` is. */
export const encodeProductWeightGradient: typeof encodeMatmulWeightGradient = (recorder, kernels, ...rest) =>
  encoder(weightGradient, kernels.partial)(recorder, kernels, ...rest);
