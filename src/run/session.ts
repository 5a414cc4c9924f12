/** Builds what a run needs — device, engine, terminals, base policy — the same way in a browser worker and in Node. */
import type { RunConfig } from '../core/config';
import { LabError } from '../core/errors';
import { VOCABULARY_SIZE } from '../core/tokenizer';
import type { GpuContext } from '../gpu/device';
import type { PolicyEngine } from '../model/engine';
import { initialParameters } from '../model/initialise';
import type { ModelShape } from '../model/parameters';
import { readModel, requireFit } from './model-file';
import { shapeOf } from './pretrain';

/** Reads a file of public/bases by base name; null when there is none. */
export type BaseLoader = (name: string) => Promise<Uint8Array | null>;

/** Base parameters that fit the configuration, and the shape they have. @throws LabError when missing or unfit */
export async function loadBase(
  config: RunConfig,
  seed: number,
  load: BaseLoader,
): Promise<{ shape: ModelShape; parameters: Float32Array }> {
  const wanted = shapeOf(config, VOCABULARY_SIZE);
  if (config.base === 'random') return { shape: wanted, parameters: initialParameters(wanted, seed, { copyInit: 0 }) };
  const where = `bases/${config.base}.safetensors`;
  const bytes = await load(config.base);
  if (!bytes)
    throw new LabError({
      code: 'base.missing',
      what: 'The base checkpoint is missing',
      where,
      expected: 'a file shipped with the site',
      got: 'nothing',
      fix: `Run: npm run --silent lab -- pretrain ${config.base}`,
    });
  const file = readModel(bytes, where);
  requireFit(file.shape, wanted, where);
  return { shape: file.shape, parameters: file.parameters };
}

/** The engine a configuration asks for; the tfjs one is loaded only then. */
export async function createEngine(context: GpuContext, shape: ModelShape, config: RunConfig): Promise<PolicyEngine> {
  const options = { microBatchTokens: config.microBatchTokens };
  if (config.engine === 'tfjs') {
    const { createTfjsEngine } = await import('../model/tfjs/engine');
    return createTfjsEngine(context, shape, options);
  }
  const { createWebGpuEngine } = await import('../model/webgpu/engine');
  return createWebGpuEngine(context, shape, options);
}
