/**
 * The third engine: the same model and losses in jax-js, compiled by `jit` and differentiated by jax-js. On its wasm device
 * it trains where there is no WebGPU; on its webgpu device it is a peer of our kernels in benchmarks. Load it with a
 * dynamic import; jax-js is large.
 */
import { tree } from '@jax-js/jax';
import { computeAdvantages } from '../../core/advantages';
import { LabError } from '../../core/errors';
import { stepLoss } from '../../core/loss';
import type {
  AdvantageBatch,
  AdvantageOptions,
  DecodeJob,
  DecodeOptions,
  DecodeResult,
  LossOptions,
  ModelRole,
  OptimiserOptions,
  OptimiserState,
  PackedRows,
  PolicyEngine,
  Scores,
  UpdateBatch,
  UpdateStats,
} from '../engine';
import { type ModelShape, type ParameterLayout, parameterLayout } from '../parameters';
import { checkJobs } from '../webgpu/decode-path';
import { CacheSlots } from './decode';
import { ArrayMaker, type JaxDevice, startDevice } from './device';
import { globalNorm, ModelState } from './model-state';
import { Passes, type StepGradient } from './step';

export type { JaxDevice } from './device';

export interface JaxEngineOptions {
  /** Tokens of a micro-batch, padding included; at most `MAX_MICRO_BATCH_TOKENS`, which is the default. */
  readonly microBatchTokens?: number;
  /** WebGPU outside of a browser (Node: `dawnGpu()`), for the webgpu device. */
  readonly gpu?: GPU;
}

/** Autodiff keeps every intermediate of a micro-batch. */
const MAX_MICRO_BATCH_TOKENS = 4096;

/**
 * @param device jax-js' own; a process has one of each kind, which engines share
 * @throws `model.shape` when the heads do not divide dModel, `jax.no-device` when there is no such device
 */
export async function createJaxEngine(
  device: JaxDevice,
  shape: ModelShape,
  options: JaxEngineOptions = {},
): Promise<PolicyEngine> {
  if (shape.dModel % shape.heads !== 0)
    throw new LabError({
      code: 'model.shape',
      what: 'Heads must divide the model width',
      expected: 'dModel a multiple of heads',
      got: `dModel ${shape.dModel}, heads ${shape.heads}`,
    });
  await startDevice(device, options.gpu);
  const limit = Math.min(options.microBatchTokens ?? MAX_MICRO_BATCH_TOKENS, MAX_MICRO_BATCH_TOKENS);
  return new JaxEngine(new ArrayMaker(device), shape, limit);
}

class JaxEngine implements PolicyEngine {
  readonly kind = 'jax';
  private readonly layout: ParameterLayout;
  private readonly models = new Map<ModelRole, ModelState>();
  private readonly slots = new Map<ModelRole, CacheSlots>();
  private readonly passes: Passes;

  constructor(
    private readonly make: ArrayMaker,
    readonly shape: ModelShape,
    limit: number,
  ) {
    this.layout = parameterLayout(shape);
    this.passes = new Passes(shape, make, limit);
  }

  /** Models and caches; jax-js does not say what else it holds. */
  deviceBytes(): number {
    let bytes = this.models.size * 3 * 4 * this.layout.count; // parameters and two moments
    for (const slots of this.slots.values()) bytes += slots.bytes;
    return bytes;
  }

  async setParameters(role: ModelRole, parameters: Float32Array): Promise<void> {
    this.make.activate();
    let model = this.models.get(role);
    if (!model) {
      model = new ModelState(this.layout, this.make);
      this.models.set(role, model);
    }
    model.setParameters(parameters);
  }

  async getParameters(role: ModelRole): Promise<Float32Array> {
    return this.model(role).parameters();
  }

  async setOptimiser(role: ModelRole, state: OptimiserState): Promise<void> {
    this.model(role).setOptimiser(state);
  }

  async getOptimiser(role: ModelRole): Promise<OptimiserState> {
    return this.model(role).optimiser();
  }

  async openSlots(role: ModelRole, slots: number, positions: number): Promise<void> {
    this.make.activate();
    const caches = this.slots.get(role) ?? new CacheSlots(this.shape, this.make);
    caches.open(slots, positions);
    this.slots.set(role, caches);
  }

  async decode(role: ModelRole, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    const model = this.model(role);
    const caches = this.slots.get(role);
    if (caches) return caches.decode(model, jobs, options);
    checkJobs(this.shape, jobs, new Uint32Array(0), 0); // says that there are no slots
    return [];
  }

  async score(role: ModelRole, rows: PackedRows): Promise<Scores> {
    return this.passes.scoreRows(this.model(role), rows);
  }

  async advantages(
    batch: AdvantageBatch,
    options: AdvantageOptions,
  ): Promise<{ advantages: Float32Array; targets: Float32Array }> {
    const { advantages, targets } = computeAdvantages(batch, options);
    return { advantages: Float32Array.from(advantages), targets: Float32Array.from(targets) };
  }

  async gradient(
    role: ModelRole,
    batch: UpdateBatch,
    loss: LossOptions,
  ): Promise<{ stats: UpdateStats; gradient: Float32Array }> {
    const model = this.model(role);
    return this.withGradient(model, batch, loss, async (step, stats) => ({
      stats,
      gradient: await model.flatten(step.gradients),
    }));
  }

  async update(
    role: ModelRole,
    batch: UpdateBatch,
    loss: LossOptions,
    optimiser: OptimiserOptions,
  ): Promise<UpdateStats> {
    const model = this.model(role);
    return this.withGradient(model, batch, loss, async (step, stats) => {
      if (!stats.nonFinite) model.adam(step.gradients, stats.gradNorm, optimiser);
      return stats;
    });
  }

  dispose(): void {
    for (const held of [...this.models.values(), ...this.slots.values()]) held.dispose();
    this.models.clear();
    this.slots.clear();
  }

  private model(role: ModelRole): ModelState {
    this.make.activate();
    const model = this.models.get(role);
    if (model) return model;
    throw new LabError({
      code: 'model.missing',
      what: `The engine holds no ${role} model`,
      expected: `setParameters('${role}', …) before its first use`,
      got: [...this.models.keys()].join(', ') || 'no models',
    });
  }

  /** Loss and gradient are jax-js'; the statistics are the definitions of core, applied to jax-js' outputs. */
  private async withGradient<T>(
    model: ModelState,
    batch: UpdateBatch,
    loss: LossOptions,
    use: (step: StepGradient, stats: UpdateStats) => Promise<T>,
  ): Promise<T> {
    const step = await this.passes.stepGradient(model, batch, loss);
    try {
      const { logp, entropy, values } = step.scores;
      const gradNorm = await globalNorm(step.gradients);
      const { stats } = stepLoss(batch, logp, entropy, values, loss);
      const nonFinite = stats.nonFinite || !Number.isFinite(step.loss) || !Number.isFinite(gradNorm);
      return await use(step, { ...stats, loss: step.loss, gradNorm, nonFinite });
    } finally {
      tree.dispose(step.gradients);
    }
  }
}
