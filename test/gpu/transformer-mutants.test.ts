/** Every kernel of the transformer broken once: the comparison with the float64 oracle must notice each. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { GpuContext } from '../../src/gpu/device';
import { compileKernel } from '../../src/gpu/kernel';
import { parameterLayout } from '../../src/model/parameters';
import type { KernelChoices } from '../../src/model/webgpu/kernel-choices';
import { ModelBuffers } from '../../src/model/webgpu/model-buffers';
import { runGradient, runUpdate, type StepContext } from '../../src/model/webgpu/optimiser-step';
import {
  compileTransformerKernels,
  type TransformerKernels,
  transformerDescriptors,
} from '../../src/model/webgpu/transformer-kernels';
import { Workspace } from '../../src/model/webgpu/workspace';
import { difference } from '../oracle/close';
import { adamStep, type OracleLoss, oracleStep } from '../oracle/transformer';
import {
  fullLoss,
  namedTensors,
  noisyParameters,
  oracleRows,
  randomBatch,
  testContext,
  tinyShape,
} from './transformer-support';

const shape = { ...tinyShape, layers: 1 };
const layout = parameterLayout(shape);
const optimiser = { learningRate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, gradClip: 0.1 };
const parameters = noisyParameters(shape, 31);
const batch = randomBatch(shape, { seed: 6, rows: 4, maxLength: 10, share: 0.5 });
const oracle = oracleStep(shape, namedTensors(shape, parameters), oracleRows(batch), batch, fullLoss as OracleLoss);

let context: GpuContext;
/** Every variant that is made for software adapters, or for any; the tiled one has a test of its own (kernels-matmul). */
const variants: readonly KernelChoices[] = (['registers', 'subgroup'] as const).map((product) => ({
  matmul: product,
  'matmul-input-gradient': product,
  'matmul-weight-gradient': product,
  attention: product === 'subgroup' ? 'subgroup' : 'lane',
  decode: 'layered',
}));
let kernels: TransformerKernels[];
beforeAll(async () => {
  context = await testContext();
  kernels = await Promise.all(variants.map((choices) => compileTransformerKernels(context, shape, choices)));
});
afterAll(() => context.dispose());

/** What differs from the oracle after one step with the given kernels, or null. */
async function differs(used: TransformerKernels): Promise<string | null> {
  const workspace = new Workspace(context, shape);
  const step: StepContext = { context, shape, kernels: used, workspace, microBatchTokens: 8192 };
  const model = new ModelBuffers(context, 'policy', layout);
  try {
    model.setParameters(parameters);
    const { stats, gradient } = await runGradient(step, model, batch, fullLoss);
    const flat = new Float64Array(layout.total);
    for (const { name, offset } of layout.entries) flat.set(oracle.gradient[name]!, offset);
    const size = flat.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const expected = adamStep(
      { p: [...parameters], m: Array(layout.total).fill(0), v: Array(layout.total).fill(0), step: 0 },
      [...flat],
      optimiser,
    );
    const { gradNorm } = await runUpdate(step, model, batch, fullLoss, optimiser);
    // The first Adam step is rate · g / (|g| + 1e-8 ..): compare where g is not close to zero.
    const clear = [...flat.keys()].filter((i) => Math.abs(flat[i]!) > 1e-3 * size);
    const moved = await model.getParameters();
    // The first step hardly depends on the gradient's scale; the moment does, and so shows the clip.
    const { m } = await model.getOptimiser();
    const pick = (values: ArrayLike<number>) => clear.map((i) => values[i]!);
    return (
      difference([stats.loss], [oracle.loss], { absolute: 1e-5 }) ??
      difference(gradient, flat, { absolute: 2e-5 * size }) ??
      difference([gradNorm], [expected.norm], { absolute: 0, relative: 1e-5 }) ??
      difference(m, expected.m, { absolute: 1e-6 }) ??
      difference(pick(moved), pick(expected.p), { absolute: 1e-5 })
    );
  } finally {
    model.dispose();
    workspace.dispose();
  }
}

it('nothing differs with the kernels as they are', async () => {
  for (const variant of kernels) expect(await differs(variant)).toBeNull();
});

it.each([
  ['embedding', 'record.y * params.d4', 'record.x * params.d4'],
  ['layernorm', '+ params.epsilon', '+ 0.1'],
  ['matmul', 'result += residual[at];', ''],
  ['matmul', 'select(result, vec4f(), result < vec4f())', 'result'],
  ['attention', '* params.scale', ''],
  ['moveRows', 'index[params.first + i / params.d4]', '(i / params.d4)'],
  ['softmaxStatistics', '- total(weighted) / total(sums)', '- total(weighted)'],
  ['valueHead', '+ bias[0]', ''],
  ['logitsGradient', '(log_probability + entropy[p])', 'log_probability'],
  ['matmulInputGradient', 'mask[at] > vec4f()', 'vec4<bool>(true)'],
  ['matmulInputGradient', 'b0 += g0 * mb', 'b0 += g0 * ma'],
  ['matmulWeightGradient', 'bias_a += ga', 'bias_a = ga'],
  ['matmulInputGradient', 'dot(g1, w5)', 'dot(g1, w4)'],
  ['matmulWeightGradient', 'bias[i] += q[i]', 'bias[i] = q[i]'],
  ['attention', 'block + i >= first && ', ''],
  ['attentionQueryGradient', 'block + i >= first && ', ''],
  ['attentionKeyValueGradient', ' && block + i < row_end', ''],
  ['reducePartials', 'params.bias_at + (i - params.weights)', 'i'],
  ['layernormInputGradient', '- z * mean_uz', ''],
  ['layernormInputGradient', 'result += dx[base + c]', ''],
  ['layernormWeightGradient', '(x[row * params.d4 + c] - s.x)', 'x[row * params.d4 + c]'],
  ['attentionQueryGradient', '(slope - d)', 'slope'],
  ['attentionKeyValueGradient', 'key_gradient[c] * params.scale', 'key_gradient[c]'],
  ['attentionKeyValueGradient', 'var i = j;', 'var i = j + 1u;'],
  ['valueHeadInputGradient', 'result += dh[i]', ''],
  ['valueHeadWeightGradient', 'sum += gradient;', 'sum = gradient;'],
  ['embeddingGradient', 'at < end', 'at + 1u < end'],
  ['gradientNorm', 'squares += g * g', 'squares += abs(g)'],
  ['adam', 'scale = params.clip / norm', 'scale = 1.0'],
  ['adam', 'new_v * params.correction2', 'new_v'],
] as [keyof TransformerKernels, string, string][])('%s: "%s" → "%s" is noticed', async (name, from, to) => {
  const texts = new Set<string>();
  for (const [i, choices] of variants.entries()) {
    const descriptor = transformerDescriptors(context.adapter, shape, choices)[name];
    const code = descriptor.code.replace(from, to);
    if (code === descriptor.code || texts.has(code)) continue;
    texts.add(code);
    const broken = await compileKernel(context, { ...descriptor, code });
    expect(await differs({ ...kernels[i]!, [name]: broken }), descriptor.name).not.toBeNull();
  }
  expect(texts.size, 'the text to break is no longer in the shader').toBeGreaterThan(0);
});
