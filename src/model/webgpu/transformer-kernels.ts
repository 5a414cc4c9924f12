/** All compiled kernels of the forward pass, the backward pass and the optimiser, for one shape. */
import type { GpuContext } from '../../gpu/device';
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
import { matmul } from '../../gpu/kernels/matmul';
import { matmulInputGradient } from '../../gpu/kernels/matmul-input-gradient';
import { matmulWeightGradient } from '../../gpu/kernels/matmul-weight-gradient';
import { moveRows } from '../../gpu/kernels/move-rows';
import { ppoLoss } from '../../gpu/kernels/ppo-loss';
import { reducePartials } from '../../gpu/kernels/reduce-partials';
import { reduceStats } from '../../gpu/kernels/reduce-stats';
import { softmaxStatistics } from '../../gpu/kernels/softmax-statistics';
import { valueHead } from '../../gpu/kernels/value-head';
import { valueHeadInputGradient } from '../../gpu/kernels/value-head-input-gradient';
import { valueHeadWeightGradient } from '../../gpu/kernels/value-head-weight-gradient';
import type { ModelShape } from '../parameters';

/** Descriptors by the name they have in `TransformerKernels`. */
export function transformerDescriptors(shape: ModelShape) {
  const headWidth = shape.dModel / shape.heads;
  return {
    adam,
    attention: attention(headWidth),
    attentionKeyValueGradient: attentionKeyValueGradient(headWidth),
    attentionQueryGradient: attentionQueryGradient(headWidth),
    embedding,
    embeddingGradient,
    gradientNorm,
    layernorm,
    layernormInputGradient,
    layernormWeightGradient,
    logitsGradient,
    lossWeights,
    matmul,
    matmulInputGradient,
    matmulWeightGradient,
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
export async function compileTransformerKernels(context: GpuContext, shape: ModelShape): Promise<TransformerKernels> {
  const descriptors = Object.entries(transformerDescriptors(shape));
  const kernels = await Promise.all(descriptors.map(([, descriptor]) => compileKernel(context, descriptor)));
  return Object.fromEntries(descriptors.map(([name], i) => [name, kernels[i]!])) as TransformerKernels;
}
