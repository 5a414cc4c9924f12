/** Files of a measurement. */
import { expect, test } from 'vitest';
import type { BenchReport } from '../../src/core/protocol/bench';
import { benchCsv, benchJson } from '../../src/ui/bench-export';

const report: BenchReport = {
  adapter: 'vendor, "card"',
  build: '1',
  browser: 'b',
  date: '2026-11-29T16:20:00.000Z',
  product: {
    product: 'matmul',
    variant: 'tiled',
    rows: 8,
    inputs: 4,
    outputs: 2,
    gflops: { median: 2.5, min: 2, max: 3, samples: 5 },
  },
  rows: [
    {
      model: 'quick',
      task: 'decode64',
      tokens: 7,
      tokensPerSecond: {
        ours: { median: 20, min: 10, max: 30, samples: 5 },
        jax: { median: 5, min: 4, max: 6, samples: 5 },
      },
    },
  ],
  problems: [{ code: 'x', what: 'tfjs failed' }],
  complete: false,
};

test('JSON has medians by model, task and engine, and where they come from', () => {
  expect(JSON.parse(benchJson(report))).toMatchObject({
    bench: 'peers',
    quick: { decode64: { ours: 20, jax: 5 } },
    unit: 'tokens/s',
    details: { quick: { decode64: { tokens: 7, tokensPerSecond: { ours: { min: 10 } } } } },
    matmul: { unit: 'GFLOP/s', gflops: { median: 2.5 } },
    problems: [{ code: 'x' }],
    complete: false,
    provenance: { adapter: 'vendor, "card"', build: '1', browser: 'b', date: '2026-11-29T16:20:00.000Z' },
  });
});

test('CSV has a row per number, none for an engine without, and quotes what needs it', () => {
  const tail = '"vendor, ""card""",1,2026-11-29T16:20:00.000Z';
  expect(benchCsv(report)).toBe(
    [
      'model,task,engine,unit,median,min,max,samples,adapter,build,date',
      `,matmul 8x4x2,ours,GFLOP/s,2.5,2,3,5,${tail}`,
      `quick,decode64,ours,tokens/s,20,10,30,5,${tail}`,
      `quick,decode64,jax,tokens/s,5,4,6,5,${tail}`,
      '',
    ].join('\n'),
  );
});
