/** All compiled kernels of the forward pass, the backward pass and the optimiser, for one shape. */
import type { AdapterSummary, GpuContext } from '../../gpu/device';
import { compileKernel, type Kernel, type KernelDescriptor } from '../../gpu/kernel';
import { adam } from '../../gpu/kernels/adam';
import { attention } from '../../gpu/kernels/attention';
import { attentionKeyValueGradient } from '../../gpu/kernels/attention-key-value-gradient';
import { attentionQueryGradient } from '../../gpu/kernels/attention-query-gradient';
import { embedding } from '../../gpu/kernels/embedding';
import { embeddingGradient } from '../../gpu/kernels/embedding-gradient';
import { gradientNorm } from '../../gpu/kernels/gradient-norm';
import { layernorm } from '../../gpu/kernels/layernorm';
import { layernormInputGradient } from '../../gpu/kernels/layernorm-input-gradient';
import { layernormWeightGradient } from '../../gpu/kernels/layernorm-weight-gradient';
import { logitsGradient } from '../../gpu/kernels/logits-gradient';
import { lossWeights } from '../../gpu/kernels/loss-weights';
import { moveRows } from '../../gpu/kernels/move-rows';
import { ppoLoss } from '../../gpu/kernels/ppo-loss';
import { type ProductName, productVariants } from '../../gpu/kernels/products';
import { reducePartials } from '../../gpu/kernels/reduce-partials';
import { reduceStats } from '../../gpu/kernels/reduce-stats';
import { softmaxStatistics } from '../../gpu/kernels/softmax-statistics';
import { subgroupShape } from '../../gpu/kernels/subgroup';
import { valueHead } from '../../gpu/kernels/value-head';
import { valueHeadInputGradient } from '../../gpu/kernels/value-head-input-gradient';
import { valueHeadWeightGradient } from '../../gpu/kernels/value-head-weight-gradient';
import type { ModelShape } from '../parameters';
import type { KernelChoices } from './kernel-choices';

/** Descriptors by the name they have in `TransformerKernels`. */
export function transformerDescriptors(adapter: AdapterSummary, shape: ModelShape, choices: KernelChoices) {
  const headWidth = shape.dModel / shape.heads;
  const subgroup = choices.attention === 'subgroup' ? subgroupShape(adapter) : undefined;
  const products = productVariants(adapter);
  const product = (name: ProductName) => products.get(choices[name])![name];
  return {
    adam,
    attention: attention(headWidth, subgroup),
    attentionKeyValueGradient: attentionKeyValueGradient(headWidth, subgroup),
    attentionQueryGradient: attentionQueryGradient(headWidth, subgroup),
    embedding,
    embeddingGradient,
    gradientNorm,
    layernorm,
    layernormInputGradient,
    layernormWeightGradient,
    logitsGradient,
    lossWeights,
    matmul: product('matmul'),
    matmulInputGradient: product('matmul-input-gradient'),
    matmulWeightGradient: product('matmul-weight-gradient'),
    moveRows,
    ppoLoss,
    reducePartials,
    reduceStats,
    softmaxStatistics,
    valueHead,
    valueHeadInputGradient,
    valueHeadWeightGradient,
  } satisfies Record<string, KernelDescriptor>;
}

export type TransformerKernels = Readonly<Record<keyof ReturnType<typeof transformerDescriptors>, Kernel>>;

/** Compiles everything; kernels already compiled for the context are reused. */
export async function compileTransformerKernels(
  context: GpuContext,
  shape: ModelShape,
  choices: KernelChoices,
): Promise<TransformerKernels> {
  const descriptors = Object.entries(transformerDescriptors(context.adapter, shape, choices));
  const kernels = await Promise.all(descriptors.map(([, descriptor]) => compileKernel(context, descriptor)));
  return Object.fromEntries(descriptors.map(([name], i) => [name, kernels[i]!])) as TransformerKernels;
}
