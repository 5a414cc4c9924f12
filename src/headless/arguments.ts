/** Turns the words after `lab` into a command and its checked arguments. */
import { parseArgs } from 'node:util';
import { LabError } from '../core/errors';
import { Arguments, type Command, type CommandIo, type OptionValue } from './command';

/** What the words after `lab` ask for. */
export type Request =
  | { readonly kind: 'help'; readonly topic: string | undefined }
  | { readonly kind: 'command'; readonly name: string; readonly rest: readonly string[] };

/**
 * Reads the first word.
 * @param words process arguments after the script's own path
 * @throws usage.no-command, usage.unknown-flag
 */
export function readRequest(words: readonly string[]): Request {
  const [first, ...rest] = words;
  if (first === 'help' || first === '--help' || first === '-h') return { kind: 'help', topic: rest[0] };
  if (first === undefined) {
    throw new LabError({ code: 'usage.no-command', what: 'No command given', fix: 'See: lab --help' });
  }
  if (first.startsWith('-')) {
    throw new LabError({
      code: 'usage.unknown-flag',
      what: 'A flag stands where a command is wanted',
      expected: 'a command',
      got: first,
      fix: 'See: lab --help',
    });
  }
  return rest.includes('--help') || rest.includes('-h')
    ? { kind: 'help', topic: first }
    : { kind: 'command', name: first, rest };
}

/** The error for a command that does not exist, naming the nearest one. */
export function unknownCommand(name: string, known: readonly string[]): LabError {
  const near = nearest(name, known);
  return new LabError({
    code: 'usage.unknown-command',
    what: 'Unknown command',
    expected: known.join(' | '),
    got: name,
    fix: near ? `Did you mean "lab ${near}"?` : 'See: lab --help',
  });
}

/**
 * Checks a command's words against its declared options.
 * @throws usage.unknown-flag, usage.bad-flag, usage.extra-argument
 */
export function parseCommand(command: Command, words: readonly string[], io: CommandIo): Arguments {
  const options = Object.fromEntries(
    Object.entries(command.options ?? {}).map(([name, { help: _help, ...spec }]) => [name, spec]),
  );
  const fix = `Usage: lab ${command.usage}`;
  let parsed: { values: Record<string, OptionValue>; positionals: string[] };
  try {
    // Unknown flags are looked for first: parseArgs' own message does not name the flags that exist.
    const { tokens } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true, tokens: true });
    for (const token of tokens) {
      if (token.kind === 'option' && !Object.hasOwn(options, token.name))
        throw unknownFlag(command, token.rawName, fix);
    }
    parsed = parseArgs({ args: [...words], options, strict: true, allowPositionals: true });
  } catch (thrown) {
    if (thrown instanceof LabError) throw thrown;
    const what = thrown instanceof Error ? (thrown.message.split(/[\n.]/)[0] ?? thrown.message) : String(thrown);
    throw new LabError({ code: 'usage.bad-flag', what, where: `lab ${command.name}`, fix }, { cause: thrown });
  }
  const extra = parsed.positionals[command.positionals ?? 0];
  if (extra !== undefined) {
    throw new LabError({
      code: 'usage.extra-argument',
      what: 'One argument too many',
      where: `lab ${command.name}`,
      expected: `at most ${command.positionals ?? 0}`,
      got: JSON.stringify(extra),
      fix,
    });
  }
  return new Arguments(command, parsed.positionals, parsed.values, io);
}

function unknownFlag(command: Command, got: string, fix: string): LabError {
  const known = Object.keys(command.options ?? {}).map((name) => `--${name}`);
  const near = nearest(got, known);
  return new LabError({
    code: 'usage.unknown-flag',
    what: 'Unknown flag',
    where: `lab ${command.name}`,
    expected: [...known, '--help'].join(' | '),
    got,
    fix: near ? `Did you mean "${near}"? ${fix}` : fix,
  });
}

/** The candidate at edit distance ≤ 2, if there is one. */
function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = 3;
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
