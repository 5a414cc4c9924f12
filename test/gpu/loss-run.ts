import type { LossOptions } from '../../src/core/algorithm/algorithm';
import type { GpuContext } from '../../src/gpu/device';
import { compileKernel, type KernelDescriptor, Recorder } from '../../src/gpu/kernel';
import {
  decodeLossStats,
  lossBytes,
  lossPlanes,
  packLossPlanes,
  packLossRows,
} from '../../src/gpu/kernels/loss-layout';
import { encodeLossWeights, lossWeights } from '../../src/gpu/kernels/loss-weights';
import { encodePpoLoss, ppoLoss } from '../../src/gpu/kernels/ppo-loss';
import { encodeReduceStats, reduceStats } from '../../src/gpu/kernels/reduce-stats';
import type { packStep } from '../oracle/cases';
import { difference } from '../oracle/close';
import { differences, type OracleOptions, type OracleStep, oracleLoss } from '../oracle/loss';
import { DeviceArrays } from './loss-support';

/** Agreed with other implementations. Terms are of order 1; float32 log-probs of size 4 carry 2.4e-7 into the ratio. */
export const TOLERANCE = { absolute: 1e-5 };

export type Packed = ReturnType<typeof packStep>;
export interface Changed {
  readonly lossWeights?: KernelDescriptor;
  readonly ppoLoss?: KernelDescriptor;
  readonly reduceStats?: KernelDescriptor;
}

/** Runs the three kernels, or changed ones, with sentinels around every output and buffers of micro-batch size. */
export async function runLoss(
  context: GpuContext,
  { batch, logp, entropy, values }: Packed,
  options: LossOptions,
  micro = Infinity,
  changed: Changed = {},
) {
  const arrays = new DeviceArrays(context);
  try {
    const tokens = logp.length;
    const rows = batch.kind.length;
    const bytes = lossBytes(rows, tokens);
    const slices = {
      rows: arrays.input(packLossRows(batch)),
      planes: arrays.input(packLossPlanes(batch, options)),
      counts: arrays.output(bytes.counts / 4),
      stats: arrays.output(bytes.stats / 4),
      partials: arrays.output(bytes.partials / 4),
      record: arrays.output(bytes.record / 4),
    };
    const recorder = new Recorder(context, 'test');
    const weights = await compileKernel(context, changed.lossWeights ?? lossWeights);
    const loss = await compileKernel(context, changed.ppoLoss ?? ppoLoss);
    const reduce = await compileKernel(context, changed.reduceStats ?? reduceStats);
    encodeLossWeights(recorder, weights, slices, { rows, tokens }, options);
    const parts = [];
    for (let first = 0; first < tokens; first += micro) {
      const count = Math.min(micro, tokens - first);
      const of = (array: Float32Array) => arrays.input(array.slice(first, first + count));
      const part = {
        count,
        logp: of(logp),
        entropy: of(entropy),
        values: of(values),
        gradLogp: arrays.output(count),
        gradEntropy: arrays.output(count),
        gradValues: arrays.output(count),
      };
      parts.push(part);
      encodePpoLoss(recorder, loss, { ...slices, ...part }, { tokens, first, count, modelOffset: 0 }, options);
    }
    encodeReduceStats(recorder, reduce, slices, tokens);
    recorder.submit();
    const [record] = await arrays.read([slices.record], 12);
    await arrays.read([slices.stats], tokens * 8);
    const [planes] = await arrays.read([slices.planes], tokens * 7);
    const grads: number[][] = [[], [], []];
    for (const part of parts) {
      const read = await arrays.read([part.gradLogp, part.gradEntropy, part.gradValues], part.count);
      read.forEach((g, i) => {
        grads[i]!.push(...g);
      });
    }
    return {
      stats: decodeLossStats(record!.slice().buffer),
      weights: planes!.subarray(lossPlanes.policyWeight * tokens, (lossPlanes.policyWeight + 1) * tokens),
      gradLogp: grads[0]!,
      gradEntropy: grads[1]!,
      gradValues: grads[2]!,
    };
  } finally {
    arrays.dispose();
  }
}

/** What differs from the oracle; empty when nothing does. */
export function problems(got: Awaited<ReturnType<typeof runLoss>>, step: OracleStep, options: OracleOptions): string[] {
  return compare(got, wanted(step, options), options);
}

/** The oracle's loss and gradients. */
export function wanted(step: OracleStep, options: OracleOptions) {
  return {
    ...oracleLoss(step, options),
    gradLogp: differences(step, options, 'logp'),
    gradEntropy: differences(step, options, 'entropy'),
    gradValues: differences(step, options, 'value'),
  };
}

export function compare(
  got: Awaited<ReturnType<typeof runLoss>>,
  want: ReturnType<typeof wanted>,
  options: OracleOptions,
): string[] {
  const policy = options.policyCoef !== 0;
  const stats = ['policyLoss', 'entropy', 'kl', 'clipFraction', 'maxRatioError'] as const;
  const lines: [string, string | null][] = [
    ['loss', difference([got.stats.loss], [want.loss], TOLERANCE)],
    ['valueLoss', difference([got.stats.valueLoss], [want.valueLoss], TOLERANCE)],
    ...stats.map((k): [string, string | null] => [k, difference([got.stats[k]], [policy ? want[k] : 0], TOLERANCE)]),
    ['gradLogp', difference(got.gradLogp, want.gradLogp, TOLERANCE)],
    ['gradEntropy', difference(got.gradEntropy, want.gradEntropy, TOLERANCE)],
    ['gradValues', difference(got.gradValues, want.gradValues, TOLERANCE)],
    ['nonFinite', got.stats.nonFinite ? 'reported' : null],
  ];
  return lines.flatMap(([name, message]) => (message === null ? [] : [`${name}: ${message}`]));
}

/** What `runLoss` takes after the context. */
export type RunArguments = Parameters<typeof runLoss> extends [unknown, ...infer Rest] ? Rest : never;
