/** Measurements as files: JSON in the shape of `bench peers --json`, and CSV with one measured number a row. */

import { csv } from '../core/csv';
import { type BenchReport, type BenchRow, peerNames, type Spread } from '../core/protocol/bench';

const medians = ({ tokensPerSecond }: BenchRow) =>
  Object.fromEntries(Object.entries(tokensPerSecond).map(([name, { median }]) => [name, median]));

/** Medians by model, task and engine, then everything else that is known. */
export function benchJson(report: BenchReport): string {
  const { rows, product, problems, complete, ...provenance } = report;
  const byModel = (pick: (row: BenchRow) => unknown) => {
    const models = new Map<string, Record<string, unknown>>();
    for (const row of rows) models.set(row.model, { ...models.get(row.model), [row.task]: pick(row) });
    return Object.fromEntries(models);
  };
  const details = byModel(({ tokens, tokensPerSecond }) => ({ tokens, tokensPerSecond }));
  const values = { bench: 'peers', ...byModel(medians), unit: 'tokens/s', details };
  const matmul = product && { unit: 'GFLOP/s', ...product };
  return `${JSON.stringify({ ...values, matmul, problems, complete, provenance }, null, 2)}\n`;
}

/** Header row included; `build`, `date` and `adapter` in each row, so that files of several machines can be put together. */
export function benchCsv({ adapter, build, date, product, rows }: BenchReport): string {
  const head = ['model', 'task', 'engine', 'unit', 'median', 'min', 'max', 'samples', 'adapter', 'build', 'date'];
  const line = (what: readonly string[], { median, min, max, samples }: Spread) => [
    ...what,
    median,
    min,
    max,
    samples,
    adapter,
    build,
    date,
  ];
  const lines = rows.flatMap(({ model, task, tokensPerSecond }) =>
    peerNames.flatMap((name) => {
      const spread = tokensPerSecond[name];
      return spread ? [line([model, task, name, 'tokens/s'], spread)] : [];
    }),
  );
  if (product) {
    const { rows: m, inputs, outputs, gflops } = product;
    lines.unshift(line(['', `${product.product} ${m}x${inputs}x${outputs}`, 'ours', 'GFLOP/s'], gflops));
  }
  return csv([head, ...lines]);
}
