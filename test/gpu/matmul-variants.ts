/** Matrix product kernels that take the same arguments and compute the same: one table for all their tests. */
import type { GpuContext } from '../../src/gpu/device';
import { type ProductVariant, productVariants } from '../../src/gpu/kernels/products';

export const variantNames = ['registers', 'subgroup', 'tiled'] as const satisfies readonly ProductVariant[];

/** The three products of a variant. Every adapter of the tests has subgroups: an absent variant is a failure. */
export function variant({ adapter }: GpuContext, name: ProductVariant) {
  const descriptors = productVariants(adapter).get(name);
  if (!descriptors) throw new Error(`${adapter.description} cannot run the variant ${name}`);
  return descriptors;
}
