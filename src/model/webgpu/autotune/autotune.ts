/**
 * A short measured choice of kernel variants for one model on one adapter, and of how much work a submit may hold: well under
 * a second once the kernels are compiled.
 */
import { LabError } from '../../../core/errors';
import type { KernelTrial } from '../../../core/kernels';
import type { GpuContext } from '../../../gpu/device';
import { type ProductName, type ProductVariant, productNames } from '../../../gpu/kernels/products';
import type { ModelShape } from '../../parameters';
import { checkShape } from '../check-shape';
import { availableChoices, type KernelChoices } from '../kernel-choices';
import { AttentionWork } from './attention-contest';
import { microBatchTokensFor, submitMacsFor } from './bounds';
import { type Candidate, type ContestResult, contest } from './contest';
import { DecodeWork } from './decode-contest';
import { ProductWork } from './product-contest';

export interface AutotuneOptions {
  readonly signal?: AbortSignal;
  /** Told the kernel that is measured next. */
  readonly onProgress?: (kernel: keyof KernelChoices) => void;
  /** Tries also what is known to be slow on software adapters; compiling it takes seconds there. */
  readonly exhaustive?: boolean;
}

export interface Tuning {
  readonly choices: KernelChoices;
  /** Tokens of a micro-batch whose submits last about 100 ms. */
  readonly microBatchTokens: number;
  /** Multiply-adds of decoding that last about 100 ms. */
  readonly submitMacs: number;
  readonly measurements: readonly KernelTrial[];
  /** Time spent measuring; compiling comes on top. */
  readonly measureMs: number;
}

/** Variants built on workgroup memory: 5 to 10 times slower on software adapters, which simulate its barriers. */
const barrierBound: ReadonlySet<string> = new Set(['tiled', 'workgroup']);

/** Variants without subgroups: WGSL does not promise that the lanes of one reconverge, so others must agree with these. */
const PLAIN = {
  matmul: 'registers',
  'matmul-input-gradient': 'registers',
  'matmul-weight-gradient': 'registers',
  attention: 'lane',
  decode: 'layered',
} as const satisfies KernelChoices;

/** Per kernel; the sum stays below a second. */
const MEASURE_BUDGET_MS = { product: 120, attention: 80, decode: 250 } as const;
const SAMPLE_MS = 4;
/** Compiling more than the first variant of each kernel ends here, all kernels together. */
const COMPILE_BUDGET_MS = 2500;

/**
 * Measures the variants that the adapter and the model can have, kernel by kernel.
 * @throws `model.shape` when the kernels cannot hold the shape, `gpu.lost` when the device is lost meanwhile, `gpu.shader` or
 *   `gpu.refused` when no variant of a kernel works, the signal's reason
 */
export async function autotune(context: GpuContext, shape: ModelShape, options: AutotuneOptions = {}): Promise<Tuning> {
  checkShape(shape);
  let lost = false;
  void context.device.lost.then(() => {
    lost = true;
  });
  const { signal, onProgress = () => {}, exhaustive = false } = options;
  const available = availableChoices(context.adapter, shape);
  const measurements: KernelTrial[] = [];
  let [extraCompileMs, measureMs] = [0, 0];

  const choose = async <Kernel extends keyof KernelChoices>(
    kernel: Kernel,
    candidate: (variant: KernelChoices[Kernel]) => Candidate<KernelChoices[Kernel]>,
    limits: { readonly measureBudgetMs: number; readonly sampleMs?: number },
  ): Promise<ContestResult<KernelChoices[Kernel]>> => {
    onProgress(kernel);
    const all: readonly KernelChoices[Kernel][] = available[kernel];
    const slow = (variant: string) => context.adapter.software && !exhaustive && barrierBound.has(variant);
    const result = await contest(all.filter((variant) => !slow(variant)).map(candidate), {
      now: () => performance.now(),
      compileBudgetMs: COMPILE_BUDGET_MS - extraCompileMs,
      signal,
      plain: PLAIN[kernel],
      ...limits,
    });
    measureMs += result.measureMs;
    const { chosen, trials } = result;
    extraCompileMs += trials.slice(1).reduce((sum, trial) => sum + (trial.compileMs ?? 0), 0);
    measurements.push(...trials.map((trial) => ({ kernel, ...trial, chosen: trial.variant === chosen })));
    for (const variant of all.filter(slow))
      measurements.push({ kernel, variant, ms: null, compileMs: null, skipped: 'software', chosen: false });
    return result;
  };

  const products = new ProductWork(context, shape);
  const attention = new AttentionWork(context, shape);
  let decode: DecodeWork | undefined;
  try {
    const product = (name: ProductName): Promise<ContestResult<ProductVariant>> =>
      choose(name, (variant) => products.candidate(name, variant), {
        measureBudgetMs: MEASURE_BUDGET_MS.product,
        sampleMs: SAMPLE_MS,
      });
    const [forward, input, weight] = [
      await product(productNames[0]),
      await product(productNames[1]),
      await product(productNames[2]),
    ];
    const attended = await choose('attention', (variant) => attention.candidate(variant), {
      measureBudgetMs: MEASURE_BUDGET_MS.attention,
      sampleMs: SAMPLE_MS,
    });
    decode = new DecodeWork(context, shape, forward.chosen);
    const work = decode;
    const decoded = await choose('decode', (path) => work.candidate(path), {
      measureBudgetMs: MEASURE_BUDGET_MS.decode,
    });
    if (lost)
      throw new LabError({ code: 'gpu.lost', what: 'The graphics device was lost while its kernels were measured' });
    return {
      choices: {
        matmul: forward.chosen,
        'matmul-input-gradient': input.chosen,
        'matmul-weight-gradient': weight.chosen,
        attention: attended.chosen,
        decode: decoded.chosen,
      },
      microBatchTokens: microBatchTokensFor(shape, {
        forward: products.macs / forward.ms,
        inputGradient: products.macs / input.ms,
        weightGradient: products.macs / weight.ms,
        attentionMs: attended.ms / attention.tokens,
      }),
      submitMacs: submitMacsFor(work.macs / decoded.ms),
      measurements,
      measureMs,
    };
  } finally {
    products.dispose();
    attention.dispose();
    decode?.dispose();
  }
}
