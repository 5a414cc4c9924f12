/** Builds what a run needs — device, engine, terminals, base policy — the same way in a browser worker and in Node. */
import { adapterName } from '../../core/adapter-name';
import type { RunConfig } from '../../core/config/config';
import { LabError } from '../../core/errors';
import type { KernelPlan } from '../../core/kernels';
import { VOCABULARY_SIZE } from '../../core/tokenizer/tokenizer';
import type { GpuContext } from '../../gpu/device';
import type { EngineKind, PolicyEngine } from '../../model/engine';
import { initialParameters } from '../../model/initialise';
import type { ModelShape } from '../../model/parameters';
import { shapeOf } from '../presets/pretrain';
import { readModel, requireFit } from './model-file';

/** Reads a file of public/bases by its name without ending; null when there is none. */
export type BaseLoader = (name: string) => Promise<Uint8Array | null>;

/** Name of the file of a base's warm start, without ending. */
export function baseName(base: string, warmStart: number): string {
  return warmStart === 1 ? base : `${base}-${warmStart}`;
}

/** Base parameters that fit the configuration, and the shape they have. @throws LabError when missing or unfit */
export async function loadBase(
  config: RunConfig,
  seed: number,
  load: BaseLoader,
): Promise<{ shape: ModelShape; parameters: Float32Array }> {
  const wanted = shapeOf(config, VOCABULARY_SIZE);
  if (config.base === 'random') return { shape: wanted, parameters: initialParameters(wanted, seed, { copyInit: 0 }) };
  const name = baseName(config.base, config.warmStart);
  const where = `bases/${name}.safetensors`;
  const bytes = await load(name);
  if (!bytes)
    throw new LabError({
      code: 'base.missing',
      what: 'The base checkpoint is missing',
      where,
      expected: 'a file shipped with the site',
      got: 'nothing',
      fix: `Run: npm run --silent lab -- pretrain ${config.base}${config.warmStart === 1 ? '' : ` --warm-start ${config.warmStart}`}`,
    });
  const file = readModel(bytes, where);
  requireFit(file.shape, wanted, where);
  return { shape: file.shape, parameters: file.parameters };
}

/** What a run computes with. */
export interface Machine {
  /** Null: there is no graphics adapter, or the engine needs none. */
  readonly context: GpuContext | null;
  /** What really runs; jax-js where a configuration asks for another engine and there is no adapter. */
  readonly engine: EngineKind;
  /** Name of the device, stored with runs. */
  readonly adapter: string;
}

/** Name of the device where there is no graphics adapter. */
export const WEBASSEMBLY = 'WebAssembly (jax-js)';

/** What runs a configuration's engine on a graphics device, or without one. */
export function machineFor(context: GpuContext | null, wanted: EngineKind): Machine {
  if (context === null) return { context, engine: 'jax', adapter: WEBASSEMBLY };
  const adapter = adapterName(context.adapter);
  return { context, engine: wanted, adapter: wanted === 'jax' ? `${adapter} (jax-js)` : adapter };
}

/** The engine of a machine; tfjs and jax-js are loaded only when they run. jax-js asks for a graphics device of its own. */
export async function createEngine(
  { context, engine }: Pick<Machine, 'context' | 'engine'>,
  shape: ModelShape,
  config: Pick<RunConfig, 'microBatchTokens'>,
  /** Kernels of engine `webgpu`; left out: the defaults. */
  kernels?: KernelPlan,
): Promise<PolicyEngine> {
  const options = { microBatchTokens: config.microBatchTokens };
  if (engine === 'jax' || context === null) {
    const { createJaxEngine } = await import('../../model/jax/engine');
    return createJaxEngine(context ? 'webgpu' : 'wasm', shape, options);
  }
  if (engine === 'tfjs') {
    const { createTfjsEngine } = await import('../../model/tfjs/engine');
    return createTfjsEngine(context, shape, options);
  }
  const { createWebGpuEngine } = await import('../../model/webgpu/engine');
  return createWebGpuEngine(context, shape, { ...options, ...kernels });
}
