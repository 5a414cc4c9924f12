/** Matrix product kernels that take the same arguments and compute the same: one table for all their tests. */
import type { GpuContext } from '../../src/gpu/device';
import { matmulInputGradientSubgroup } from '../../src/gpu/kernels/matmul-input-gradient-subgroup';
import { matmulSubgroup } from '../../src/gpu/kernels/matmul-subgroup';
import { matmulWeightGradientSubgroup } from '../../src/gpu/kernels/matmul-weight-gradient-subgroup';
import { type ProductDescriptors, productVariants } from '../../src/gpu/kernels/products';
import type { SubgroupShape } from '../../src/gpu/kernels/subgroup';

/**
 * What other adapters give the subgroup kernels, and those of the tests can run: several subgroups in a workgroup, and more
 * lanes in a subgroup (8 on llvmpipe) than load different values.
 */
export const otherSubgroups: SubgroupShape = { lanes: 16, share: 4 };

export const variantNames = ['registers', 'subgroup', 'other subgroups', 'tiled'] as const;

/** The three products of a variant. Every adapter of the tests has subgroups: an absent variant is a failure. */
export function variant({ adapter }: GpuContext, name: (typeof variantNames)[number]): ProductDescriptors {
  if (name === 'other subgroups')
    return {
      matmul: matmulSubgroup(otherSubgroups),
      'matmul-input-gradient': matmulInputGradientSubgroup(otherSubgroups),
      'matmul-weight-gradient': matmulWeightGradientSubgroup(otherSubgroups),
    };
  const descriptors = productVariants(adapter).get(name);
  if (!descriptors) throw new Error(`${adapter.description} cannot run the variant ${name}`);
  return descriptors;
}

/** n roundings of 6e-8 of a partial sum of up to about 4 √n, added at random: 2.4e-7 n; and products of up to 4 · 4. */
export const sumTolerance = (n: number) => ({ absolute: 4e-6 + 3e-7 * n });
