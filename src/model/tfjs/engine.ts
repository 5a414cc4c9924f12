/**
 * The reference engine: the same model and losses as the WGSL kernels, written in tfjs operations and differentiated by
 * tfjs. Slower, short, and independent of our shaders: the oracle on a visitor's own GPU, and the place to try another
 * architecture. Load it with a dynamic import; tfjs is large.
 */
import type { GpuContext } from '../../gpu/device';
import { AutodiffEngine, type AutodiffOptions, checkHeads, microBatchLimit } from '../autodiff/engine';
import type { LossOptions, PackedRows, PolicyEngine, UpdateBatch } from '../engine';
import { type ModelShape, parameterLayout } from '../parameters';
import { claimBackend, type TfjsBackend } from './backend';
import { CacheSlots } from './decode';
import { type Gradients, globalNorm, ModelState } from './model-state';
import { scoreRows, stepGradient } from './step';

export interface TfjsEngineOptions extends AutodiffOptions {
  /** Freed device memory that tfjs may keep for reuse between calls; default 256 MiB. */
  readonly poolBytes?: number;
}

/**
 * @param context the lab's device, shared with every other engine on it; null for tfjs' CPU backend
 * @throws `model.shape` when the heads do not divide dModel, `tfjs.device-in-use` while another device is behind tfjs
 */
export async function createTfjsEngine(
  context: GpuContext | null,
  shape: ModelShape,
  options: TfjsEngineOptions = {},
): Promise<PolicyEngine> {
  checkHeads(shape);
  const poolBytes = options.poolBytes ?? 256 * 2 ** 20;
  return new TfjsEngine(await claimBackend(context), shape, microBatchLimit(options), poolBytes);
}

class TfjsEngine extends AutodiffEngine<Gradients, ModelState, CacheSlots> {
  readonly kind = 'tfjs';

  constructor(
    private readonly backend: TfjsBackend,
    shape: ModelShape,
    private readonly limit: number,
    private readonly poolBytes: number,
  ) {
    super(shape);
  }

  /** All of tfjs' memory on the device, shared with other tfjs engines there. */
  deviceBytes(): number {
    return this.backend.bytes();
  }

  override dispose(): void {
    super.dispose();
    this.backend.release();
  }

  protected activate(): Promise<void> {
    return this.backend.activate();
  }

  protected createModel(): ModelState {
    return new ModelState(parameterLayout(this.shape));
  }

  protected createSlots(): CacheSlots {
    return new CacheSlots(this.shape);
  }

  protected scoreRows(model: ModelState, rows: PackedRows) {
    return scoreRows(model, this.shape, rows, this.limit);
  }

  protected stepGradient(model: ModelState, batch: UpdateBatch, loss: LossOptions) {
    return stepGradient(model, this.shape, batch, loss, this.limit);
  }

  protected globalNorm(gradients: Gradients): Promise<number> {
    return globalNorm(gradients);
  }

  protected disposeGradients(gradients: Gradients): void {
    for (const gradient of gradients.values()) gradient.dispose();
  }

  protected override trim(): void {
    this.backend.trim(this.poolBytes);
  }
}
