/** Turns the words after `lab` into a command and its checked arguments. */
import { parseArgs } from 'node:util';
import { LabError } from '../core/errors';
import { Arguments, type Command, type CommandIo, type OptionValue } from './command';
import { didYouMean, nearest } from './nearest';

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
export function parseCommand(command: Command, given: readonly string[], io: CommandIo): Arguments {
  const words = joinNegative(command, given);
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
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    const ambiguous = /^Option '(?:-\w, )?(--[\w-]+).*' argument is ambiguous/.exec(message)?.[1];
    const parts = ambiguous
      ? { what: `${ambiguous} has no value`, fix: `If the value starts with "-", write ${ambiguous}=VALUE. ${fix}` }
      : { what: message.split(/[\n.]/)[0] ?? message, fix };
    throw new LabError({ code: 'usage.bad-flag', where: `lab ${command.name}`, ...parts }, { cause: thrown });
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

/** `--seed -1` as `--seed=-1`: parseArgs takes a negative number for a flag, and its message does not say which are allowed. */
function joinNegative(command: Command, words: readonly string[]): string[] {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  const joined: string[] = [];
  words.forEach((word, i) => {
    const before = words[i - 1];
    const option = before?.startsWith('--') ? command.options?.[before.slice(2)] : undefined;
    if (i < end && option?.type === 'string' && /^-\.?\d/.test(word)) joined[joined.length - 1] = `${before}=${word}`;
    else joined.push(word);
  });
  return joined;
}

function unknownFlag(command: Command, got: string, fix: string): LabError {
  const names = Object.keys(command.options ?? {});
  return new LabError({
    code: 'usage.unknown-flag',
    what: 'Unknown flag',
    where: `lab ${command.name}`,
    expected: [...names, 'help'].map((name) => `--${name}`).join(' | '),
    got,
    fix: `${didYouMean(got.replace(/^-+/, ''), names, (name) => `--${name}`)}${fix}`,
  });
}
