/**
 * What the engines written in an array library with autodiff share. The library gives loss and gradient; models by role,
 * the statistics of a step and when an update is applied are here. Imports no array library.
 */
import { computeAdvantages } from '../../core/algorithm/advantages';
import { stepLoss } from '../../core/algorithm/loss';
import { LabError } from '../../core/errors';
import { checkJobs } from '../check-decode';
import type {
  AdvantageBatch,
  AdvantageOptions,
  DecodeJob,
  DecodeOptions,
  DecodeResult,
  EngineKind,
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
import type { ModelShape } from '../parameters';

/** Autodiff keeps every intermediate of a micro-batch: about 40 kB a token for the quick model. */
const MAX_MICRO_BATCH_TOKENS = 4096;

export interface AutodiffOptions {
  /** Tokens of a micro-batch, padding included; at most `MAX_MICRO_BATCH_TOKENS`, which is the default. */
  readonly microBatchTokens?: number | undefined;
}

/** @returns tokens of a micro-batch, padding included */
export function microBatchLimit({ microBatchTokens = MAX_MICRO_BATCH_TOKENS }: AutodiffOptions): number {
  return Math.min(microBatchTokens, MAX_MICRO_BATCH_TOKENS);
}

/** @throws `model.shape` when the heads do not divide dModel */
export function checkHeads({ dModel, heads }: ModelShape): void {
  if (dModel % heads === 0) return;
  throw new LabError({
    code: 'model.shape',
    what: 'Heads must divide the model width',
    expected: 'dModel a multiple of heads',
    got: `dModel ${dModel}, heads ${heads}`,
  });
}

/** Parameters and Adam moments of one model. Flat arrays are in the order of `parameterLayout`. */
export interface AutodiffModel<Gradients> {
  setParameters(flat: Float32Array): void;
  parameters(): Promise<Float32Array>;
  setOptimiser(state: OptimiserState): void;
  optimiser(): Promise<OptimiserState>;
  /** @param gradients kept */
  flatten(gradients: Gradients): Promise<Float32Array>;
  /** One Adam step. @param gradients kept @param gradNorm their global norm, for the clip */
  adam(gradients: Gradients, gradNorm: number, options: OptimiserOptions): void;
  dispose(): void;
}

/** KV caches of one model's slots. */
export interface AutodiffSlots<Model> {
  open(slots: number, positions: number): void;
  decode(model: Model, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]>;
  dispose(): void;
}

/** What one optimiser step's gradient pass gives. */
export interface StepGradient<Gradients> {
  /** Sums over all micro-batches; the caller disposes them. */
  readonly gradients: Gradients;
  readonly loss: number;
  readonly scores: Scores;
}

export abstract class AutodiffEngine<
  Gradients,
  Model extends AutodiffModel<Gradients>,
  Slots extends AutodiffSlots<Model>,
> implements PolicyEngine
{
  abstract readonly kind: EngineKind;
  protected readonly models = new Map<ModelRole, Model>();
  protected readonly slots = new Map<ModelRole, Slots>();

  constructor(readonly shape: ModelShape) {}

  abstract deviceBytes(): number;
  /** Makes the library's operations run on this engine's device; called before each method's first one. */
  protected abstract activate(): void | Promise<void>;
  protected abstract createModel(): Model;
  protected abstract createSlots(): Slots;
  /** Forward pass without gradient. */
  protected abstract scoreRows(model: Model, rows: PackedRows): Promise<Scores>;
  /** Gradient of the loss of a whole optimiser step; nothing is applied. */
  protected abstract stepGradient(
    model: Model,
    batch: UpdateBatch,
    loss: LossOptions,
  ): Promise<StepGradient<Gradients>>;
  /** √ Σ g² over all gradients, which are kept; NaN or ∞ anywhere makes it NaN or ∞. */
  protected abstract globalNorm(gradients: Gradients): Promise<number>;
  protected abstract disposeGradients(gradients: Gradients): void;
  /** Called after each pass, between operations. */
  protected trim(): void {}

  async setParameters(role: ModelRole, parameters: Float32Array): Promise<void> {
    await this.activate();
    const model = this.models.get(role) ?? this.createModel();
    this.models.set(role, model);
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
    await this.activate();
    const caches = this.slots.get(role) ?? this.createSlots();
    caches.open(slots, positions);
    this.slots.set(role, caches);
  }

  async decode(role: ModelRole, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    const model = await this.model(role);
    const caches = this.slots.get(role);
    if (!caches) {
      checkJobs(this.shape, jobs, new Uint32Array(0), 0); // says that there are no slots
      return [];
    }
    const results = await caches.decode(model, jobs, options);
    this.trim();
    return results;
  }

  async score(role: ModelRole, rows: PackedRows): Promise<Scores> {
    const scores = await this.scoreRows(await this.model(role), rows);
    this.trim();
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
    return this.withGradient(model, batch, loss, async (gradients, stats) => ({
      stats,
      gradient: await model.flatten(gradients),
    }));
  }

  async update(
    role: ModelRole,
    batch: UpdateBatch,
    loss: LossOptions,
    optimiser: OptimiserOptions,
  ): Promise<UpdateStats> {
    const model = await this.model(role);
    return this.withGradient(model, batch, loss, async (gradients, stats) => {
      if (!stats.nonFinite) model.adam(gradients, stats.gradNorm, optimiser);
      return stats;
    });
  }

  dispose(): void {
    for (const held of [...this.models.values(), ...this.slots.values()]) held.dispose();
    this.models.clear();
    this.slots.clear();
  }

  private async model(role: ModelRole): Promise<Model> {
    await this.activate();
    const model = this.models.get(role);
    if (model) return model;
    throw new LabError({
      code: 'model.missing',
      what: `The engine holds no ${role} model`,
      expected: `setParameters('${role}', …) before its first use`,
      got: [...this.models.keys()].join(', ') || 'no models',
    });
  }

  /** Loss and gradient are the library's; the statistics are the definitions of core, applied to its outputs. */
  private async withGradient<T>(
    model: Model,
    batch: UpdateBatch,
    loss: LossOptions,
    use: (gradients: Gradients, stats: UpdateStats) => Promise<T>,
  ): Promise<T> {
    const step = await this.stepGradient(model, batch, loss);
    try {
      const { logp, entropy, values } = step.scores;
      const gradNorm = await this.globalNorm(step.gradients);
      const { stats } = stepLoss(batch, logp, entropy, values, loss);
      const nonFinite = stats.nonFinite || !Number.isFinite(step.loss) || !Number.isFinite(gradNorm);
      return await use(step.gradients, { ...stats, loss: step.loss, gradNorm, nonFinite });
    } finally {
      this.disposeGradients(step.gradients);
      this.trim();
    }
  }
}
