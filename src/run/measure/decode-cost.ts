/** What a sampled token costs as its context grows. */
import type { GpuContext } from '../../gpu/device';
import type { DecodeJob, DecodeResult } from '../../model/engine';
import { type ModelShape, parameterLayout } from '../../model/parameters';
import { Decoder } from '../../model/webgpu/decode';
import type { DecodePathName } from '../../model/webgpu/decode-path';
import { availableChoices } from '../../model/webgpu/kernel-choices';
import { ModelBuffers } from '../../model/webgpu/model-buffers';
import { decodeFlops } from './flops';
import { measuredParameters } from './models';
import { alternate, batchSize, mapSpread, type Spread } from './rounds';

/** Tokens that every environment samples in one measured call. */
const SAMPLES = 16;
/** Calls are repeated until a measurement takes at least this long. */
const BATCH_MS = 100;

export interface DecodeCost {
  /** Positions that the first sampled token sees; the last sees 15 more. */
  readonly context: number;
  /** Sampled tokens of all environments together. */
  readonly tokensPerSecond: Spread;
  /** By the model's formula, mean over the call. */
  readonly flopsPerToken: number;
}

/** Growth from the first to the last context. */
export interface DecodeGrowth {
  /** Time per token. */
  readonly time: number;
  readonly flops: number;
  /** time / flops: 1 when a token costs what its FLOPs say. */
  readonly ratio: number;
}

export interface DecodeCosts {
  readonly costs: readonly DecodeCost[];
  readonly growth: DecodeGrowth;
}

/**
 * Measures one decode path at growing contexts, in one cache that holds the longest.
 * @param contexts ascending
 * @returns null when the path cannot hold the model
 */
export async function decodeCosts(
  context: GpuContext,
  model: ModelShape,
  options: {
    readonly path: DecodePathName;
    readonly environments: number;
    readonly contexts: readonly number[];
    readonly rounds: number;
  },
): Promise<DecodeCosts | null> {
  const { path, environments, contexts, rounds } = options;
  const positions = contexts[contexts.length - 1]! + SAMPLES;
  const shape = { ...model, positions };
  if (!availableChoices(context.adapter, shape).decode.includes(path)) return null;
  const decoder = await Decoder.create(context, shape, { path });
  const buffers = new ModelBuffers(context, 'decode bench', parameterLayout(shape));
  try {
    buffers.setParameters(measuredParameters(shape));
    decoder.openSlots(environments, positions);
    const decode = (start: number, feedCount: number, cap: number): Promise<DecodeResult[]> => {
      const jobs = Array.from({ length: environments }, (_, slot): DecodeJob => {
        const feed = Uint32Array.from(
          { length: feedCount },
          (_, i) => (slot * 31 + (start + i) * 7) % shape.vocabulary,
        );
        return { slot, start, feed, previous: 0, stop: shape.vocabulary, cap, stream: slot, index: start };
      });
      return decoder.decode(buffers.parameters.buffer, jobs, { key: [1, 1] });
    };
    const costs: DecodeCost[] = [];
    let filled = 0;
    for (const first of contexts) {
      // All but the last token of the context.
      if (filled < first - 1) await decode(filled, first - 1 - filled, 1);
      filled = first + SAMPLES - 1;
      const sample = async (calls: number) => {
        for (let i = 0; i < calls; i++) await decode(first - 1, 1, SAMPLES);
      };
      const calls = await batchSize(sample, BATCH_MS);
      const { ms } = await alternate({ ms: () => sample(calls) }, rounds);
      costs.push({
        context: first,
        tokensPerSecond: mapSpread(ms, (t) => (calls * environments * SAMPLES * 1000) / t),
        flopsPerToken: decodeFlops(shape, first + (SAMPLES - 1) / 2),
      });
    }
    return { costs, growth: growthOf(costs) };
  } finally {
    decoder.dispose();
    buffers.dispose();
  }
}

/** @param costs at least one, contexts ascending */
export function growthOf(costs: readonly DecodeCost[]): DecodeGrowth {
  const [first, last] = [costs[0]!, costs[costs.length - 1]!];
  const time = first.tokensPerSecond.median / last.tokensPerSecond.median;
  const flops = last.flopsPerToken / first.flopsPerToken;
  return { time, flops, ratio: time / flops };
}
