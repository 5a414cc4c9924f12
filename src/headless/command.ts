/**
 * What a `lab` command is. One command = one file `src/headless/commands/<name>.ts` with a default export of type
 * `Command`; the file name is the command's name and `main.ts` finds it by itself (no list to edit).
 */
import { LabError } from '../core/errors';

/** One `--flag`. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** May be given more than once (`--set a=1 --set b=2`). */
  readonly multiple?: boolean;
  /** One sentence for `lab <command> --help`, with unit and default. */
  readonly help: string;
}

/** What a command reads beside its flags, for `lab <command> --help`. */
export interface InputHelp {
  /** What it is, e.g. `One JSON object a line on standard input`. */
  readonly what: string;
  /** Key, its type or shape, its meaning with unit and range. */
  readonly fields: readonly (readonly [key: string, shape: string, meaning: string])[];
  /** A whole input that can be pasted, and how the command is called with it. A test runs it. */
  readonly example: {
    /** The input, one line. */
    readonly text: string;
    /** The file it is to be put in; without one it comes on standard input. */
    readonly file?: string;
    /** Words after `lab`. */
    readonly command: string;
    /** What is printed; `…` stands for what is long or differs from machine to machine. */
    readonly output: string;
  };
}

export interface Command {
  /** As typed; equal to the file's name. */
  readonly name: string;
  /** One sentence for `lab --help`. */
  readonly summary: string;
  /** What follows `lab `, e.g. `run <preset|config.json> --seed N [--set key=value]… [--out dir]`. */
  readonly usage: string;
  /** Flags; any other flag is refused before `run` is called. `--help` is always there. */
  readonly options?: Readonly<Record<string, OptionSpec>>;
  readonly input?: InputHelp;
  /** Most positional arguments accepted (default 0). */
  readonly positionals?: number;
  /**
   * Does the work. Throws LabError for bad input (printed as one line; exit code 2 for a code `usage.…`, else 1).
   * @returns the exit code, 0 when nothing is returned
   */
  run(args: Arguments): Promise<number | undefined> | Promise<void>;
}

/** One line of standard input. */
export interface InputLine {
  /** Counts from 1. */
  readonly number: number;
  readonly text: string;
}

/** The process around a command; tests pass their own. */
export interface CommandIo {
  /** Writes to stdout, newline included by the caller. */
  out(text: string): void;
  /** Writes to stderr. */
  err(text: string): void;
  /** Lines of stdin. */
  lines(): AsyncIterable<InputLine>;
  /** Aborted by SIGINT, SIGTERM and a closed stdout: finish the step in hand, write what must be written, return. */
  readonly signal: AbortSignal;
}

export type OptionValue = string | boolean | (string | boolean)[] | undefined;

/** The parsed command line, and the way to answer. */
export class Arguments {
  constructor(
    readonly command: Command,
    readonly positionals: readonly string[],
    private readonly values: Readonly<Record<string, OptionValue>>,
    private readonly io: CommandIo,
  ) {}

  /** See CommandIo.signal. */
  get signal(): AbortSignal {
    return this.io.signal;
  }

  /** Lines of stdin; blank lines are passed on, so that line numbers stay true. */
  lines(): AsyncIterable<InputLine> {
    return this.io.lines();
  }

  /** One JSON object as one line on stdout. Typed arrays become plain arrays. */
  print(value: unknown): void {
    this.io.out(`${JSON.stringify(value, plainArrays)}\n`);
  }

  /** A result for people, on stdout, where a command offers one in place of JSON lines. */
  say(text: string): void {
    this.io.out(text);
  }

  /** Progress for people, on stderr. */
  note(text: string): void {
    this.io.err(`${text}\n`);
  }

  /** Positional argument `index`. @throws usage.missing-argument when it was not given */
  required(index: number, what: string): string {
    const value = this.positionals[index];
    if (value !== undefined) return value;
    throw this.usageError('usage.missing-argument', `Missing ${what}`, { expected: what, got: 'nothing' });
  }

  /** The text given to `--name`, or undefined. */
  text(name: string): string | undefined {
    const value = this.values[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** The path given to `--name`. @throws usage.bad-value for an empty one: it would mean the folder the command runs in */
  path(name: string): string | undefined {
    const text = this.text(name);
    if (text === undefined || text.trim() !== '') return text;
    throw this.usageError('usage.bad-value', `Bad value for --${name}`, {
      expected: 'a path',
      got: JSON.stringify(text),
      hint: 'If it comes from a shell variable, that is empty; "." is the folder the command runs in. ',
    });
  }

  /** Every text given to a `multiple` option, in order. */
  texts(name: string): string[] {
    const value = this.values[name];
    const list = Array.isArray(value) ? value : [value];
    return list.filter((item): item is string => typeof item === 'string');
  }

  flag(name: string): boolean {
    return this.values[name] === true;
  }

  /** The text given to `--name`, which must be one of `choices`. @throws usage.bad-value */
  choice<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const found = choices.find((choice) => choice === text);
    if (found !== undefined) return found;
    throw this.usageError('usage.bad-value', `Bad value for --${name}`, { expected: choices.join(' | '), got: text });
  }

  /** The whole number given to `--name`. @throws usage.bad-value when it is no integer in [min, max] */
  integer(name: string, fallback: number, min = 0, max = 2 ** 32 - 1): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value + 0; // +0: -0 is 0
    throw this.usageError('usage.bad-value', `Bad value for --${name}`, {
      expected: `a whole number from ${min} to ${max}`,
      got: JSON.stringify(text),
    });
  }

  /** The run seed given to `--seed`. @throws usage.bad-value when it is no unsigned 32-bit integer */
  seed(fallback = 0): number {
    return this.integer('seed', fallback);
  }

  /** Whether `--name` was given at all. */
  given(name: string): boolean {
    return this.values[name] !== undefined;
  }

  /** Refuses `--name` where it would change nothing. @throws usage.bad-flag */
  requireEffect(name: string, effective: boolean, expected: string): void {
    if (effective || !this.given(name)) return;
    throw this.usageError('usage.bad-flag', `--${name} would do nothing here`, { expected });
  }

  /** A usage error: exit code 2, with the command's usage as the fix, after `hint`. */
  usageError(
    code: `usage.${string}`,
    what: string,
    detail: { expected?: string; got?: string; hint?: string } = {},
  ): LabError {
    const { hint = '', ...parts } = detail;
    return new LabError({ code, what, ...parts, fix: `${hint}Usage: lab ${this.command.usage}` });
  }
}

function plainArrays(_key: string, value: unknown): unknown {
  if (!ArrayBuffer.isView(value) || value instanceof DataView) return value;
  return Array.from(value as unknown as ArrayLike<number>);
}
