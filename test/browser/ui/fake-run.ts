/** What a plausible run measures and shows, without training. Deterministic. Used by tests only. */

import { compactThreshold, type RunConfig } from '../../../src/core/config/config';
import type { KernelReport } from '../../../src/core/kernels';
import type { EvalSummary, IterationRecord } from '../../../src/core/metrics/records';
import type { WatchEvent } from '../../../src/core/protocol/protocol';
import { decode, encode, special } from '../../../src/core/tokenizer/tokenizer';

const wave = (i: number, k: number) => Math.sin(i * 12.9898 + k * 78.233) * 0.5;

function evaluation(success: number): EvalSummary {
  return {
    success,
    episodes: 256,
    byCompactions: [],
    successNeedingCompaction: success,
    meanTurns: 9,
    meanCompactions: 3,
    meanSummaryTokens: 6,
    factRecall: success,
  };
}

/** Metrics after `i` iterations; records count from 0. */
export function fakeRecord(i: number, config: RunConfig): IterationRecord {
  const t = 1 / (1 + Math.exp(-(i - 14) / 4));
  const success = 0.14 + 0.8 * t + 0.03 * wave(i, 1);
  const evaluates = config.evalEvery > 0 && (i % config.evalEvery === 0 || i === config.iterations || i === 1);
  return {
    iteration: i - 1,
    envTokens: i * 14_000,
    trainSuccess: success,
    meanReturn: success,
    loss: 0.1 - 0.05 * t,
    policyLoss: 0.02 * wave(i, 3),
    valueLoss: 0.08,
    entropy: 0.62 - 0.45 * t + 0.02 * wave(i, 4),
    kl: 0.006 + 0.004 * wave(i, 5),
    clipFraction: 0.04 + 0.02 * wave(i, 6),
    gradNorm: 0.4,
    ratioError: 1e-6,
    explainedVariance: -0.3 + 0.5 * t + 0.1 * wave(i, 7),
    explainedVarianceExecution: -0.25 + 0.5 * t + 0.1 * wave(i, 8),
    explainedVarianceSummary: -0.5 + 0.6 * t + 0.1 * wave(i, 9),
    summaryTokens: 8.8 - 3 * t + 0.3 * wave(i, 10),
    compactions: 4 - 0.9 * t + 0.1 * wave(i, 11),
    turns: 11.6 - 2.3 * t,
    factRecall: 0.6 + 0.38 * t,
    advantageBySegment: [0.1, 0.2],
    stops: { solved: success, 'turn-limit': 1 - success },
    policyTokens: 5000,
    learningRate: 0.002,
    updateSkipped: false,
    alarms: [],
    ...(evaluates ? { evalComp: evaluation(success), evalSingle: evaluation(0.02) } : {}),
    ...(i === config.iterations && evaluates ? { evalLong: evaluation(0.3) } : {}),
    rolloutMs: 900,
    updateMs: 300,
    evalMs: evaluates ? 800 : 0,
  };
}

/** A measured choice; the time of the chosen product tells the measurements apart. */
export function fakeKernels(ms: number): KernelReport {
  const trial = { compileMs: 100, skipped: null };
  return {
    shape: { vocabulary: 256, dModel: 32, layers: 1, heads: 4, mlp: 64, positions: 128, previousToken: true },
    plan: { choices: { matmul: 'subgroup', decode: 'lane' }, microBatchTokens: 4096, submitMacs: 2 ** 27 },
    trials: [
      { ...trial, kernel: 'matmul', variant: 'subgroup', chosen: true, ms },
      { ...trial, kernel: 'matmul', variant: 'registers', chosen: false, ms: 2.5 * ms },
      { ...trial, kernel: 'matmul', variant: 'tiled', chosen: false, ms: null, skipped: 'software' },
      { ...trial, kernel: 'decode', variant: 'lane', chosen: true, ms: 4 },
    ],
    measureMs: 290,
    measuredAt: '2026-11-29T16:20:00.000Z',
  };
}

/** One scripted episode with `compactions` compactions. */
export function fakeEpisode(rollout: number, config: RunConfig, compactions = 3): WatchEvent[] {
  const instruction = 'follow lamp; echo code end > out';
  const events: WatchEvent[] = [];
  const ids = (text: string) => [...encode(text)];
  const tokens = (kind: 'context' | 'action' | 'observation' | 'summary', list: number[]) => {
    events.push({ type: 'tokens', kind, ids: list, text: decode(list) });
    used += list.length;
  };
  let used = 0;
  events.push({
    type: 'start',
    rollout,
    instruction,
    window: config.window,
    reserve: compactThreshold(config),
    turnLimit: 12,
  });
  const task = [special.bos, special.task, ...ids(instruction)];
  tokens('context', task);
  const files = ['lamp', 'rope', 'kite', 'acorn', 'shoe', 'wheel', 'pen', 'door', 'vase'];
  let done = 0;
  for (const [i, file] of files.entries()) {
    const next = files[i + 1];
    tokens('context', [special.act]);
    tokens('action', [...ids(`cat ${file}`), special.eoc]);
    tokens(
      'observation',
      ids(`${i === 0 ? 'code teal\n' : ''}soft very calm quite\n${next ? `next ${next}` : 'end amber'}\n`),
    );
    if (config.window - used < compactThreshold(config) && done < compactions) {
      done++;
      tokens('context', [special.sum]);
      const summary = ids(`code teal next ${next ?? 'none'}`);
      tokens('summary', [...summary, special.eos]);
      const rebuilt = [...task, special.resume, ...summary];
      events.push({ type: 'compact', summary: decode(summary), tokensBefore: used, tokensAfter: rebuilt.length });
      used = 0;
      tokens('context', rebuilt);
    }
  }
  tokens('context', [special.act]);
  tokens('action', [...ids('echo teal amber > out'), special.eoc]);
  events.push({ type: 'end', stop: 'solved', reward: 1 });
  return events;
}
