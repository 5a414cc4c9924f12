/**
 * The reference engine: the same model and losses as the WGSL kernels, written in tfjs operations and differentiated by
 * tfjs. Slower, short, and independent of our shaders: the oracle on a visitor's own GPU, and the place to try another
 * architecture. Load it with a dynamic import; tfjs is large.
 */
import { computeAdvantages } from '../../core/advantages';
import { LabError } from '../../core/errors';
import { stepLoss } from '../../core/loss';
import type { GpuContext } from '../../gpu/device';
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
import { claimBackend, type TfjsBackend } from './backend';
import { CacheSlots } from './decode';
import { globalNorm, ModelState } from './model-state';
import { type StepGradient, scoreRows, stepGradient } from './step';

export interface TfjsEngineOptions {
  /** Tokens of a micro-batch, padding included; at most `MAX_MICRO_BATCH_TOKENS`, which is the default. */
  readonly microBatchTokens?: number;
  /** Freed device memory that tfjs may keep for reuse between calls; default 256 MiB. */
  readonly poolBytes?: number;
}

/** Autodiff keeps every intermediate of a micro-batch: about 40 kB a token for the quick model. */
const MAX_MICRO_BATCH_TOKENS = 4096;

/**
 * @param context the lab's device, shared with every other engine on it; null for tfjs' CPU backend
 * @throws `model.shape` when the heads do not divide dModel, `tfjs.device-in-use` while another device is behind tfjs
 */
export async function createTfjsEngine(
  context: GpuContext | null,
  shape: ModelShape,
  options: TfjsEngineOptions = {},
): Promise<PolicyEngine> {
  if (shape.dModel % shape.heads !== 0)
    throw new LabError({
      code: 'model.shape',
      what: 'Heads must divide the model width',
      expected: 'dModel a multiple of heads',
      got: `dModel ${shape.dModel}, heads ${shape.heads}`,
    });
  const limit = Math.min(options.microBatchTokens ?? MAX_MICRO_BATCH_TOKENS, MAX_MICRO_BATCH_TOKENS);
  return new TfjsEngine(await claimBackend(context), shape, limit, options.poolBytes ?? 256 * 2 ** 20);
}

class TfjsEngine implements PolicyEngine {
  readonly kind = 'tfjs';
  private readonly layout: ParameterLayout;
  private readonly models = new Map<ModelRole, ModelState>();
  private readonly slots = new Map<ModelRole, CacheSlots>();

  constructor(
    private readonly backend: TfjsBackend,
    readonly shape: ModelShape,
    private readonly limit: number,
    private readonly poolBytes: number,
  ) {
    this.layout = parameterLayout(shape);
  }

  /** All of tfjs' memory on the device, shared with other tfjs engines there. */
  deviceBytes(): number {
    return this.backend.bytes();
  }

  async setParameters(role: ModelRole, parameters: Float32Array): Promise<void> {
    await this.backend.activate();
    let model = this.models.get(role);
    if (!model) {
      model = new ModelState(this.layout);
      this.models.set(role, model);
    }
    model.setParameters(parameters);
  }

  async getParameters(role: ModelRole): Promise<Float32Array> {
    return (await this.model(role)).parameters();
  }

  async setOptimiser(role: ModelRole, state: OptimiserState): Promise<void> {
    (await this.model(role)).setOptimiser(state);
  }

  async getOptimiser(role: ModelRole): Promise<OptimiserState> {
    return (await this.model(role)).optimiser();
  }

  async openSlots(role: ModelRole, slots: number, positions: number): Promise<void> {
    await this.backend.activate();
    const caches = this.slots.get(role) ?? new CacheSlots(this.shape);
    caches.open(slots, positions);
    this.slots.set(role, caches);
  }

  async decode(role: ModelRole, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    const { weights } = await this.model(role);
    const caches = this.slots.get(role) ?? new CacheSlots(this.shape);
    const results = await caches.decode(weights, jobs, options);
    this.backend.trim(this.poolBytes);
    return results;
  }

  async score(role: ModelRole, rows: PackedRows): Promise<Scores> {
    const scores = await scoreRows(await this.model(role), this.shape, rows, this.limit);
    this.backend.trim(this.poolBytes);
    return scores;
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
    const model = await this.model(role);
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
    const model = await this.model(role);
    return this.withGradient(model, batch, loss, async (step, stats) => {
      if (!stats.nonFinite) model.adam(step.gradients, stats.gradNorm, optimiser);
      return stats;
    });
  }

  dispose(): void {
    for (const model of this.models.values()) model.dispose();
    for (const slots of this.slots.values()) slots.dispose();
    this.models.clear();
    this.slots.clear();
    this.backend.release();
  }

  private async model(role: ModelRole): Promise<ModelState> {
    await this.backend.activate();
    const model = this.models.get(role);
    if (model) return model;
    throw new LabError({
      code: 'model.missing',
      what: `The engine holds no ${role} model`,
      expected: `setParameters('${role}', …) before its first use`,
      got: [...this.models.keys()].join(', ') || 'no models',
    });
  }

  /** Loss and gradient are tfjs'; the statistics are the definitions of core, applied to tfjs' outputs. */
  private async withGradient<T>(
    model: ModelState,
    batch: UpdateBatch,
    loss: LossOptions,
    use: (step: StepGradient, stats: UpdateStats) => Promise<T>,
  ): Promise<T> {
    const step = await stepGradient(model, this.shape, batch, loss, this.limit);
    try {
      const { logp, entropy, values } = step.scores;
      const gradNorm = await globalNorm(step.gradients);
      const { stats } = stepLoss(batch, logp, entropy, values, loss);
      const nonFinite = stats.nonFinite || !Number.isFinite(step.loss) || !Number.isFinite(gradNorm);
      return await use(step, { ...stats, loss: step.loss, gradNorm, nonFinite });
    } finally {
      for (const gradient of step.gradients.values()) gradient.dispose();
      this.backend.trim(this.poolBytes);
    }
  }
}
