/** Which kernels a run uses: stored with it, else measured once for this adapter and model and kept, else the defaults. */
import type { RunConfig } from '../../core/config/config';
import { errorParts, LabError, type LabErrorParts } from '../../core/errors';
import { type KernelPlan, type KernelReport, parseKernelReport } from '../../core/kernels';
import type { RunHeader } from '../../core/protocol/protocol';
import type { AdapterSummary, GpuContext } from '../../gpu/device';
import type { ModelShape } from '../../model/parameters';
import { kernelVersion } from './build';
import type { Machine } from './session';

/** Where measured choices are kept. Reports come back unparsed: files and databases are not to be trusted. */
export interface KernelCache {
  /** Reports of an adapter and kernel version, by model. */
  loadKernels(adapter: string, version: string): Promise<ReadonlyMap<string, unknown>>;
  saveKernels(adapter: string, version: string, model: string, report: KernelReport): Promise<void>;
}

export interface MeasureOptions {
  readonly cache: KernelCache;
  /** Measures also where a choice is kept. */
  readonly fresh?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (kernel: string) => void;
  /** Told what is wrong with the cache; the choice does not depend on it. */
  readonly onNotice?: (notice: LabErrorParts) => void;
}

/** Names an adapter as its speed depends on it: description and driver text, and what variants it can run. */
export function adapterKey({
  vendor,
  architecture,
  description,
  features,
  subgroupMinSize = 0,
}: AdapterSummary): string {
  const subgroups = features.includes('subgroups') ? `subgroups ${subgroupMinSize}` : 'no subgroups';
  return [vendor, architecture, description, subgroups].join(' | ');
}

/** Models of one key share their choices: widths and depth count, positions only roughly. */
export function modelKey({ vocabulary, dModel, layers, heads, mlp, positions, previousToken }: ModelShape): string {
  const most = 2 ** Math.ceil(Math.log2(positions));
  return `d${dModel} l${layers} h${heads} m${mlp} v${vocabulary} p${most}${previousToken ? ' previous' : ''}`;
}

/** A kept report that still serves; null when there is none. */
function usable(raw: unknown, key: string, onNotice: MeasureOptions['onNotice']): KernelReport | null {
  if (raw === undefined) return null;
  try {
    return parseKernelReport(raw, `kept kernel measurements, ${key}`);
  } catch (thrown) {
    onNotice?.({ ...errorParts(thrown), fix: 'The next run of that model measures again.' });
    return null;
  }
}

/** What is kept for an adapter, unparsed; nothing where the cache fails, as a choice can be measured without one. */
async function kept(adapter: string, { cache, onNotice }: Pick<MeasureOptions, 'cache' | 'onNotice'>) {
  try {
    return await cache.loadKernels(adapter, kernelVersion);
  } catch (thrown) {
    onNotice?.(errorParts(thrown));
    return new Map<string, unknown>();
  }
}

/** All kept choices of an adapter that can be read. */
export async function keptReports(
  adapter: AdapterSummary,
  { cache, onNotice }: Pick<MeasureOptions, 'cache' | 'onNotice'>,
): Promise<KernelReport[]> {
  const reports = await kept(adapterKey(adapter), { cache, onNotice });
  return [...reports].flatMap(([key, raw]) => usable(raw, key, onNotice) ?? []);
}

/**
 * The measured choice for a model, from the cache where it is there.
 * @throws what `autotune` throws
 */
export async function measuredChoice(
  context: GpuContext,
  shape: ModelShape,
  { cache, fresh = false, signal, onProgress, onNotice }: MeasureOptions,
): Promise<KernelReport> {
  const [adapter, model] = [adapterKey(context.adapter), modelKey(shape)];
  const { completeChoices } = await import('../../model/webgpu/kernel-choices');
  if (!fresh) {
    const report = usable((await kept(adapter, { cache, onNotice })).get(model), model, onNotice);
    try {
      if (report)
        return {
          ...report,
          plan: { ...report.plan, choices: completeChoices(context.adapter, shape, report.plan.choices) },
        };
    } catch (thrown) {
      onNotice?.({ ...errorParts(thrown), fix: 'It is measured again.' });
    }
  }
  const { autotune } = await import('../../model/webgpu/autotune/autotune');
  const { choices, microBatchTokens, submitMacs, measurements, measureMs } = await autotune(context, shape, {
    signal,
    onProgress,
  });
  const report: KernelReport = {
    shape: { ...shape },
    plan: { choices, microBatchTokens, submitMacs },
    trials: measurements,
    measureMs,
    measuredAt: new Date().toISOString(),
  };
  for (const { kernel, variant, skipped } of measurements)
    if (skipped === 'differs')
      onNotice?.({
        code: 'kernels.differs',
        what: 'A kernel variant does not compute on this adapter what the plain one does; it is not used',
        where: kernel,
        got: variant,
        fix: 'Nothing is lost but speed. Report it with the output of lab device.',
      });
  await cache.saveKernels(adapter, kernelVersion, model, report).catch((thrown) => onNotice?.(errorParts(thrown)));
  return report;
}

/** The plan without a measurement, with `chosen` on top. @throws `gpu.choice` */
export async function defaultPlan(
  context: GpuContext,
  shape: ModelShape,
  config: Pick<RunConfig, 'microBatchTokens'>,
  chosen: Partial<KernelPlan> = {},
): Promise<KernelPlan> {
  const { completeChoices } = await import('../../model/webgpu/kernel-choices');
  const { SUBMIT_MACS } = await import('../../model/webgpu/decode-path');
  const choices = completeChoices(context.adapter, shape, chosen.choices);
  return { microBatchTokens: config.microBatchTokens, submitMacs: SUBMIT_MACS, ...chosen, choices };
}

/** The kernels that a new run uses; undefined where its engine has none to choose. */
export async function planFor(
  { context, engine }: Pick<Machine, 'context' | 'engine'>,
  shape: ModelShape,
  config: Pick<RunConfig, 'microBatchTokens' | 'kernels'>,
  options: MeasureOptions,
): Promise<KernelPlan | undefined> {
  if (context === null || engine !== 'webgpu') return undefined;
  if (config.kernels === 'default' && !options.fresh) return defaultPlan(context, shape, config);
  const { plan } = await measuredChoice(context, shape, options);
  return { ...plan, microBatchTokens: Math.min(plan.microBatchTokens, config.microBatchTokens) };
}

/**
 * Whether a stored run can go on with its own kernels here.
 * @throws `gpu.choice` saying how else it can go on
 */
export async function requireStoredPlan(
  { context, engine }: Pick<Machine, 'context' | 'engine'>,
  shape: ModelShape,
  { kernels, adapter }: Pick<RunHeader, 'kernels' | 'adapter'>,
): Promise<void> {
  if (!kernels || context === null || engine !== 'webgpu') return;
  const { completeChoices } = await import('../../model/webgpu/kernel-choices');
  try {
    completeChoices(context.adapter, shape, kernels.choices);
  } catch (thrown) {
    if (!(thrown instanceof LabError)) throw thrown;
    throw new LabError(
      {
        ...thrown.parts,
        what: 'The run was computed with a kernel variant that this adapter does not have',
        fix: `Continue it on its own adapter (${adapter}); or start a new run with its configuration and seed; or, where bits do not matter, continue it on the command line with --resume DIR --kernels fresh.`,
      },
      { cause: thrown },
    );
  }
}
