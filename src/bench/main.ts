/**
 * `npm run --silent bench -- <name> [--json] …`: measurements; nothing here passes or fails. Progress goes to stderr; stdout
 * gets one JSON object with `--json`, else a table. Every file in `benches/` is a benchmark, loaded only when called.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { errorParts, formatError } from '../core/errors';
import { build } from '../run/session/build';
import { usageError } from './arguments';
import type { Bench, BenchResult } from './bench';
import { tableText } from './table';

const modules = import.meta.glob<{ default: Bench }>('./benches/*.ts');
const loaders = new Map(
  Object.entries(modules).map(([path, load]) => [path.replace(/^.*\/|\.ts$/g, ''), load] as const),
);

async function load(name: string): Promise<Bench> {
  const loader = loaders.get(name);
  if (!loader) throw usageError('Unknown benchmark', [...loaders.keys()].join(', '), name || 'no name');
  return (await loader()).default;
}

async function help(): Promise<string> {
  const benches = await Promise.all([...loaders.keys()].sort().map(load));
  const lines = benches.flatMap(({ name, summary, options = {} }) => [
    `  ${name.padEnd(10)} ${summary}`,
    ...Object.entries(options).map(([flag, option]) => `${' '.repeat(13)}--${flag} … ${option.help}`),
  ]);
  return ['Usage: npm run --silent bench -- <name> [--json] [--flag value]…', '', ...lines, ''].join('\n');
}

/** What a number needs to be compared with another one. */
function provenance(words: readonly string[], { adapter }: BenchResult) {
  return {
    command: `bench ${words.join(' ')}`,
    adapter: adapter ?? null,
    build,
    node: process.version,
    date: new Date().toISOString(),
    cores: availableParallelism(),
  };
}

/** The flags of a benchmark. @throws `usage.bench` */
function parse(bench: Bench, words: readonly string[]) {
  const flags = Object.keys(bench.options ?? {}).map((name) => [name, { type: 'string' as const }] as const);
  try {
    const { values } = parseArgs({
      args: [...words],
      options: { json: { type: 'boolean' }, ...Object.fromEntries(flags) },
    });
    const { json, ...options } = values as { json?: boolean } & Record<string, string | undefined>;
    return { json: json === true, options };
  } catch (thrown) {
    const expected = ['--json', ...flags.map(([name]) => `--${name} …`)].join(', ');
    throw usageError(
      `Bad arguments for ${bench.name}`,
      expected,
      (thrown as Error).message.split('\n')[0]!.replace(/\.$/, ''),
    );
  }
}

async function main(words: readonly string[]): Promise<void> {
  const [name = '', ...rest] = words;
  if (name === '--help' || name === '-h' || rest.includes('--help')) {
    process.stdout.write(await help());
    return;
  }
  const bench = await load(name);
  const { json, options } = parse(bench, rest);
  const result = await bench.run({ options, note: (line) => process.stderr.write(`${line}\n`) });
  const from = provenance(words, result);
  if (json) process.stdout.write(`${JSON.stringify({ bench: bench.name, ...result.values, provenance: from })}\n`);
  else {
    const facts = [from.command, from.adapter ?? 'no graphics adapter', `build ${from.build}`, `Node ${from.node}`];
    const foot = [...(result.remarks ?? []), '', [...facts, `${from.cores} cores`, from.date].join(' · ')];
    process.stdout.write(`${tableText(result.table)}\n\n${foot.join('\n')}\n`);
  }
}

let code = 0;
try {
  await main(process.argv.slice(2));
} catch (thrown) {
  const parts = errorParts(thrown);
  process.stderr.write(`error: ${formatError(parts)}\n`);
  if (process.env.LAB_DEBUG && thrown instanceof Error) process.stderr.write(`${thrown.stack}\n`);
  code = parts.code.startsWith('usage.') ? 2 : 1;
}
// Explicit, after stdout is flushed: Dawn's threads and terminal workers would keep the process alive.
process.stdout.write('', () => process.exit(code));
