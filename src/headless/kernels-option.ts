/** `--kernels` of the commands that compute: measured again, or named by the user; without it, what the configuration says. */

import type { RunConfig } from '../core/config/config';
import { formatError, LabError } from '../core/errors';
import { requireShallow } from '../core/json-depth';
import { type KernelPlan, parsePartialPlan } from '../core/kernels';
import type { ModelShape } from '../model/parameters';
import { defaultPlan, type MeasureOptions, planFor } from '../run/session/kernel-plan';
import type { Machine } from '../run/session/session';
import type { Arguments, OptionSpec } from './command';
import { FileKernelCache, kernelCachePath } from './kernel-cache';
import { readJson } from './runtime';
import { shown } from './system-error';

export const kernelsOption: OptionSpec = {
  type: 'string',
  help: 'kernels to use: "fresh" to measure again, or JSON or a JSON file like {"choices":{"matmul":"registers"},"microBatchTokens":1024}; default: as measured before (configuration key kernels)',
};

/** `fresh`: measure again. A plan: use this, and defaults for what it leaves out. Undefined: as configured. */
export type KernelsRequest = 'fresh' | Partial<KernelPlan> | undefined;

/** Reads `--kernels`. @throws usage.kernels.bad, usage.bad-value, file.…, config.not-json */
export async function readKernels(args: Arguments): Promise<KernelsRequest> {
  const text = args.text('kernels');
  if (text === undefined || text === 'fresh') return text;
  const inline = text.trimStart().startsWith('{');
  try {
    return parsePartialPlan(
      inline
        ? requireShallow(JSON.parse(text), '--kernels')
        : await readJson('kernels file', text, 'a JSON object of kernels'),
      inline ? '--kernels' : `--kernels ${shown(text)}`,
    );
  } catch (thrown) {
    if (thrown instanceof SyntaxError)
      throw args.usageError('usage.bad-value', '--kernels is not JSON', { expected: 'JSON', got: thrown.message });
    if (thrown instanceof LabError && thrown.code === 'kernels.bad')
      throw new LabError(
        {
          ...thrown.parts,
          code: 'usage.kernels.bad',
          fix: 'lab device prints kernels that were measured here: pass its "plan", or a part of it.',
        },
        { cause: thrown },
      );
    throw thrown;
  }
}

/** How the command line measures: with its cache file, and notes on stderr. */
export function measuring(args: Arguments, fresh: boolean): MeasureOptions {
  const onNotice: MeasureOptions['onNotice'] = (notice) => args.note(`note: ${formatError(notice)}`);
  return {
    cache: new FileKernelCache(kernelCachePath(), onNotice),
    fresh,
    signal: args.signal,
    onProgress: (kernel) => args.note(`measuring kernel variants once for this adapter and model: ${kernel}`),
    onNotice,
  };
}

/**
 * The kernels that a command computes with; undefined where its engine has none to choose.
 * @throws `gpu.choice`; `usage.bad-flag` when kernels are asked of an engine that has none
 */
export async function requestedPlan(
  args: Arguments,
  request: KernelsRequest,
  machine: Machine,
  shape: ModelShape,
  config: RunConfig,
): Promise<KernelPlan | undefined> {
  const { context, engine } = machine;
  if (request !== undefined && (context === null || engine !== 'webgpu'))
    throw args.usageError('usage.bad-flag', '--kernels chooses among the kernels of engine webgpu', {
      expected: 'no --kernels with another engine',
      got: `engine ${engine}`,
    });
  if (typeof request === 'object' && context) return defaultPlan(context, shape, config, request);
  return planFor(machine, shape, config, measuring(args, request === 'fresh'));
}
