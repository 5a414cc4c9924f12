/** The work that engines are measured with: an optimiser step, and decoding. The same for every engine. */
import type { DecodeResult, PolicyEngine, UpdateBatch, UpdateStats } from '../../model/engine';
import { type MeasuredModel, measuredParameters } from './models';
import {
  DECODE_CALLS,
  DECODE_WINDOW,
  DecodeScript,
  measuredLoss,
  measuredOptimiser,
  syntheticBatch,
} from './synthetic';

/** Tokens of a measured optimiser step, at least. */
export const batchTokens: Readonly<Record<MeasuredModel, number>> = { quick: 4096, d128: 2048 };

/**
 * Readies an engine for optimiser steps.
 * @returns `run` does one step on the batch and ends when its result is in the parameters
 */
export async function startUpdate(
  engine: PolicyEngine,
  tokens: number,
): Promise<{ readonly batch: UpdateBatch; readonly run: () => Promise<UpdateStats> }> {
  const batch = syntheticBatch(engine.shape, tokens);
  await engine.setParameters('policy', measuredParameters(engine.shape));
  const run = async () => {
    const stats = await engine.update('policy', batch, measuredLoss, measuredOptimiser);
    // An engine may return while its last kernels are still queued: reading the parameters charges it for them.
    await engine.getParameters('policy');
    return stats;
  };
  return { batch, run };
}

/** What one window of decoding gave. */
export interface DecodedWindow {
  /** Tokens fed and sampled. */
  readonly tokens: number;
  /** Results of each call. */
  readonly calls: readonly (readonly DecodeResult[])[];
}

/**
 * Readies an engine for decoding.
 * @returns `run` fills one window of all environments, call by call; the first window is the same for every engine
 */
export async function startDecode(
  engine: PolicyEngine,
  environments: number,
): Promise<{ readonly run: () => Promise<DecodedWindow> }> {
  await engine.setParameters('policy', measuredParameters(engine.shape));
  await engine.openSlots('policy', environments, DECODE_WINDOW);
  const script = new DecodeScript(engine.shape, environments);
  const run = async () => {
    const before = script.tokens;
    const calls: DecodeResult[][] = [];
    for (let call = 0; call < DECODE_CALLS; call++) {
      const jobs = script.jobs();
      const results = await engine.decode('policy', jobs, { key: [1, 1] });
      script.accept(jobs, results);
      calls.push(results);
    }
    return { tokens: script.tokens - before, calls };
  };
  return { run };
}
