/** The hand-written WebGPU engine: ties models, workspace, kernels and decoders together. */
import { LabError } from '../../core/errors';
import type { GpuContext } from '../../gpu/device';
import { computeAdvantages } from '../../gpu/kernels/advantages';
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
import { type ModelShape, parameterLayout } from '../parameters';
import { checkShape } from './check-shape';
import { Decoder, type DecoderOptions } from './decode';
import { completeChoices } from './kernel-choices';
import { ModelBuffers } from './model-buffers';
import { runGradient, runUpdate, type StepContext } from './optimiser-step';
import { runScore } from './score';
import { compileTransformerKernels } from './transformer-kernels';
import { Workspace } from './workspace';

/** Tokens of a micro-batch unless the caller says otherwise: bounds the memory of activations and the work of a submit. */
export const DEFAULT_MICRO_BATCH_TOKENS = 8192;

export interface WebGpuEngineOptions {
  /** Most tokens that go through the model together; a longer row goes alone. Default 8192. */
  readonly microBatchTokens?: number;
  /** Most bytes of the logits of one chunk of trainable tokens. Default 64 MiB. */
  readonly maxLogitsBytes?: number;
  /** Variant by kernel, as in `KernelChoices`; what is left out is the adapter's default. */
  readonly choices?: Readonly<Partial<Record<string, string>>>;
  /** Most multiply-adds of one submit of decoding; results do not depend on it. Default `SUBMIT_MACS`. */
  readonly submitMacs?: number;
}

/**
 * Compiles all kernels of a shape. `dispose` frees the engine's memory, not the context.
 * @throws `model.shape` when the kernels cannot hold the shape, `gpu.choice` when the adapter lacks a chosen variant,
 *   `gpu.shader` when the driver rejects a shader
 */
export async function createWebGpuEngine(
  context: GpuContext,
  shape: ModelShape,
  options: WebGpuEngineOptions = {},
): Promise<PolicyEngine> {
  checkShape(shape);
  const choices = completeChoices(context.adapter, shape, options.choices);
  const workspace = new Workspace(context, shape, options.maxLogitsBytes);
  const wanted = options.microBatchTokens ?? DEFAULT_MICRO_BATCH_TOKENS;
  const { decode: path, matmul: product } = choices;
  const decoder = { path, product, ...(options.submitMacs && { submitMacs: options.submitMacs }) };
  return new WebGpuEngine(decoder, {
    context,
    shape,
    kernels: await compileTransformerKernels(context, shape, choices),
    workspace,
    microBatchTokens: Math.max(1, Math.min(wanted, workspace.maxTokens())),
  });
}

class WebGpuEngine implements PolicyEngine {
  readonly kind = 'webgpu';
  readonly shape: ModelShape;
  private readonly models = new Map<ModelRole, ModelBuffers>();
  private readonly decoders = new Map<ModelRole, Decoder>();

  constructor(
    private readonly decoding: DecoderOptions,
    private readonly step: StepContext,
  ) {
    this.shape = step.shape;
  }

  deviceBytes(): number {
    let bytes = this.step.workspace.bytes;
    for (const model of this.models.values()) bytes += model.bytes;
    for (const decoder of this.decoders.values()) bytes += decoder.bytes;
    return bytes;
  }

  async setParameters(role: ModelRole, parameters: Float32Array): Promise<void> {
    let model = this.models.get(role);
    if (!model) {
      model = new ModelBuffers(this.step.context, role, parameterLayout(this.shape));
      this.models.set(role, model);
    }
    model.setParameters(parameters);
  }

  async getParameters(role: ModelRole): Promise<Float32Array> {
    return this.model(role).getParameters();
  }

  async setOptimiser(role: ModelRole, state: OptimiserState): Promise<void> {
    this.model(role).setOptimiser(state);
  }

  async getOptimiser(role: ModelRole): Promise<OptimiserState> {
    return this.model(role).getOptimiser();
  }

  async openSlots(role: ModelRole, slots: number, positions: number): Promise<void> {
    let decoder = this.decoders.get(role);
    if (!decoder) {
      decoder = await Decoder.create(this.step.context, this.shape, this.decoding);
      this.decoders.set(role, decoder);
    }
    decoder.openSlots(slots, positions);
  }

  async decode(role: ModelRole, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    const decoder = this.decoders.get(role);
    if (!decoder)
      throw new LabError({
        code: 'decode.slot',
        what: 'Decoding needs cache slots',
        where: role,
        expected: 'openSlots before decode',
        got: 'no slots',
      });
    return decoder.decode(this.model(role).parameters.buffer, jobs, options);
  }

  async score(role: ModelRole, rows: PackedRows): Promise<Scores> {
    return runScore(this.step, this.model(role), rows);
  }

  async advantages(
    batch: AdvantageBatch,
    options: AdvantageOptions,
  ): Promise<{ advantages: Float32Array; targets: Float32Array }> {
    return computeAdvantages(this.step.context, batch, options);
  }

  async gradient(
    role: ModelRole,
    batch: UpdateBatch,
    loss: LossOptions,
  ): Promise<{ stats: UpdateStats; gradient: Float32Array }> {
    return runGradient(this.step, this.model(role), batch, loss);
  }

  async update(
    role: ModelRole,
    batch: UpdateBatch,
    loss: LossOptions,
    optimiser: OptimiserOptions,
  ): Promise<UpdateStats> {
    return runUpdate(this.step, this.model(role), batch, loss, optimiser);
  }

  dispose(): void {
    for (const model of this.models.values()) model.dispose();
    for (const decoder of this.decoders.values()) decoder.dispose();
    this.models.clear();
    this.decoders.clear();
    this.step.workspace.dispose();
  }

  private model(role: ModelRole): ModelBuffers {
    const model = this.models.get(role);
    if (!model)
      throw new LabError({
        code: 'model.missing',
        what: 'The engine holds no such model',
        where: role,
        expected: 'setParameters first',
        got: 'no parameters',
      });
    return model;
  }
}
