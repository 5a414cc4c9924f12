/** Which variant of each kernel an engine uses. Chosen by measurement (autotune), or by hand; stored with every run. */
import { LabError } from '../../core/errors';
import type { AdapterSummary } from '../../gpu/device';
import { type ProductName, type ProductVariant, productVariants } from '../../gpu/kernels/products';
import { subgroupShape } from '../../gpu/kernels/subgroup';
import type { ModelShape } from '../parameters';
import { fusedFits } from './decode-fused';
import type { DecodePathName } from './decode-path';
import { workgroupFits } from './decode-workgroup';

/** `lane`: every lane reads all keys of its query. `subgroup`: the lanes of a subgroup hand keys round. */
export type AttentionVariant = 'lane' | 'subgroup';

/** Results of different choices agree within float tolerance, not bit for bit. */
export type KernelChoices = Readonly<Record<ProductName, ProductVariant>> & {
  /** Forward and backward. */
  readonly attention: AttentionVariant;
  readonly decode: DecodePathName;
};

type Adapter = Pick<AdapterSummary, 'features' | 'subgroupMinSize'>;

/** What each kernel can be on an adapter for a model; the first is what is used without a measurement. */
export function availableChoices(
  adapter: Adapter,
  shape: ModelShape,
): { readonly [K in keyof KernelChoices]: readonly KernelChoices[K][] } {
  const variants = productVariants(adapter);
  const subgroups = subgroupShape(adapter) !== undefined;
  const fused = fusedFits(shape);
  const products = (['subgroup', 'registers', 'tiled'] as const).filter((variant) => variants.has(variant));
  return {
    matmul: products,
    'matmul-input-gradient': products,
    'matmul-weight-gradient': products,
    attention: subgroups ? ['subgroup', 'lane'] : ['lane'],
    decode: [
      ...(fused && subgroups ? (['subgroup'] as const) : []),
      ...(fused ? (['lane'] as const) : []),
      'layered',
      ...(workgroupFits(shape) ? (['workgroup'] as const) : []),
    ],
  };
}

/**
 * Fills in what is not chosen.
 * @param chosen variant by kernel; also as it was stored, so any text
 * @throws `gpu.choice` when the adapter, or a model of this shape, cannot have a chosen variant
 */
export function completeChoices(
  adapter: Adapter,
  shape: ModelShape,
  chosen: Readonly<Partial<Record<string, string>>> = {},
): KernelChoices {
  const available = availableChoices(adapter, shape);
  const refuse = (where: string, expected: readonly string[], got: string) =>
    new LabError({
      code: 'gpu.choice',
      what: 'This adapter cannot run the chosen kernel variant for this model',
      where,
      expected: expected.join(', '),
      got,
      fix: 'Choose another variant, or leave the choice to the autotune.',
    });
  for (const kernel of Object.keys(chosen))
    if (!Object.hasOwn(available, kernel)) throw refuse('kernels', Object.keys(available), kernel);
  const pick = <K extends keyof KernelChoices>(kernel: K): KernelChoices[K] => {
    const options: readonly KernelChoices[K][] = available[kernel];
    const choice = chosen[kernel];
    if (choice === undefined) return options[0]!;
    const found = options.find((option) => option === choice);
    if (found !== undefined) return found;
    throw refuse(kernel, options, choice);
  };
  return {
    matmul: pick('matmul'),
    'matmul-input-gradient': pick('matmul-input-gradient'),
    'matmul-weight-gradient': pick('matmul-weight-gradient'),
    attention: pick('attention'),
    decode: pick('decode'),
  };
}
