/**
 * The third engine: the same model and losses in jax-js, compiled by `jit` and differentiated by jax-js. On its wasm device
 * it trains where there is no WebGPU; on its webgpu device it is a peer of our kernels in benchmarks. Load it with a
 * dynamic import; jax-js is large.
 */
import { tree } from '@jax-js/jax';
import { AutodiffEngine, type AutodiffOptions, checkHeads, microBatchLimit } from '../autodiff/engine';
import type { LossOptions, PackedRows, PolicyEngine, UpdateBatch } from '../engine';
import { type ModelShape, type ParameterLayout, parameterLayout } from '../parameters';
import { CacheSlots } from './decode';
import { ArrayMaker, type JaxDevice, startDevice } from './device';
import { globalNorm, ModelState } from './model-state';
import type { Weights } from './policy';
import { Passes } from './step';

export type { JaxDevice } from './device';

export interface JaxEngineOptions extends AutodiffOptions {
  /** WebGPU outside of a browser (Node: `dawnGpu()`), for the webgpu device. */
  readonly gpu?: GPU;
}

/**
 * @param device jax-js' own; a process has one of each kind, which engines share
 * @throws `model.shape` when the heads do not divide dModel, `jax.no-device` when there is no such device
 */
export async function createJaxEngine(
  device: JaxDevice,
  shape: ModelShape,
  options: JaxEngineOptions = {},
): Promise<PolicyEngine> {
  checkHeads(shape);
  await startDevice(device, options.gpu);
  return new JaxEngine(new ArrayMaker(device), shape, microBatchLimit(options));
}

class JaxEngine extends AutodiffEngine<Weights, ModelState, CacheSlots> {
  readonly kind = 'jax';
  private readonly layout: ParameterLayout;
  private readonly passes: Passes;

  constructor(
    private readonly make: ArrayMaker,
    shape: ModelShape,
    limit: number,
  ) {
    super(shape);
    this.layout = parameterLayout(shape);
    this.passes = new Passes(shape, make, limit);
  }

  /** Models and caches; jax-js does not say what else it holds. */
  deviceBytes(): number {
    let bytes = this.models.size * 3 * 4 * this.layout.count; // parameters and two moments
    for (const slots of this.slots.values()) bytes += slots.bytes;
    return bytes;
  }

  protected activate(): void {
    this.make.activate();
  }

  protected createModel(): ModelState {
    return new ModelState(this.layout, this.make);
  }

  protected createSlots(): CacheSlots {
    return new CacheSlots(this.shape, this.make);
  }

  protected scoreRows(model: ModelState, rows: PackedRows) {
    return this.passes.scoreRows(model, rows);
  }

  protected stepGradient(model: ModelState, batch: UpdateBatch, loss: LossOptions) {
    return this.passes.stepGradient(model, batch, loss);
  }

  protected globalNorm(gradients: Weights): Promise<number> {
    return globalNorm(gradients);
  }

  protected disposeGradients(gradients: Weights): void {
    tree.dispose(gradients);
  }
}
