/** Measurements that nobody made, for the bench cell's tests. Ours is ten times tfjs and four times jax-js. */
import {
  type BenchReport,
  type BenchRequest,
  type BenchRow,
  peerTasks,
  type Spread,
} from '../../../src/core/protocol/bench';

const spread = (median: number): Spread => ({ median, min: 0.9 * median, max: 1.2 * median, samples: 5 });

/** The report after `rows` rows. */
export function fakeBench({ models }: BenchRequest, rows: number): BenchReport {
  const all = models.flatMap((model) =>
    peerTasks.map((task, i): BenchRow => {
      const ours = (model === 'quick' ? 80_000 : 4_000) * (i + 1);
      return {
        model,
        task,
        tokens: 4096,
        tokensPerSecond: { ours: spread(ours), tfjs: spread(ours / 10), jax: spread(ours / 4) },
      };
    }),
  );
  return {
    adapter: 'google swiftshader SwiftShader (software)',
    build: '0.1.0+test',
    browser: 'Test/1.0',
    date: '2026-11-29T16:20:00.000Z',
    product: { product: 'matmul', variant: 'subgroup', rows: 4096, inputs: 128, outputs: 128, gflops: spread(8.4) },
    rows: all.slice(0, rows),
    problems: [],
    complete: rows >= all.length,
  };
}
