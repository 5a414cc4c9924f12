/** The small JSON that is committed as a result: what was run, where, and what came out. */
import { nonDefault } from '../core/config/config';
import type { IterationRecord } from '../core/metrics/records';
import type { RunHeader } from '../core/protocol/protocol';
import type { RunOutcome } from '../run/trainer/trainer';
import { writeWhole } from './targets';

const kept = [
  'iteration',
  'envTokens',
  'trainSuccess',
  'entropy',
  'kl',
  'clipFraction',
  'explainedVariance',
  'summaryTokens',
  'compactions',
  'turns',
  'factRecall',
] as const satisfies readonly (keyof IterationRecord)[];

const rounded = (_key: string, value: unknown) =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;

/** Writes result version 1. Numbers that are not whole have six significant digits. */
export async function writeResult(
  path: string,
  command: string,
  header: RunHeader,
  records: readonly IterationRecord[],
  outcome: RunOutcome,
): Promise<void> {
  const rows = records.map((record) => ({
    ...Object.fromEntries(kept.map((name) => [name, record[name]])),
    ...(record.evalComp && { evalComp: record.evalComp, evalSingle: record.evalSingle }),
    ...(record.evalLong && { evalLong: record.evalLong }),
    ...(record.alarms.length > 0 && { alarms: record.alarms.map((a) => a.code) }),
  }));
  const { preset, seed, config, adapter, kernels, shell = 1, build, createdAt } = header;
  const provenance = { command, preset, seed, config: nonDefault(config), adapter, kernels, shell, build, createdAt };
  const head = JSON.stringify({ version: 1, ...provenance, outcome }, rounded, 1).slice(0, -2);
  // One line an iteration: small, and readable in a diff.
  const lines = rows.map((row) => `  ${JSON.stringify(row, rounded)}`).join(',\n');
  await writeWhole(path, `${head},\n "iterations": [\n${lines}\n ]\n}\n`);
}
