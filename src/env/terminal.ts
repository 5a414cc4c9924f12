/**
 * One virtual machine: a just-bash shell over its own in-memory file system. No host files, no network, no clock: the same
 * commands give the same bytes on every machine (shell-limits.ts, virtual-globals.ts).
 */
// First: just-bash takes its stopwatch while it is being loaded.
import './virtual-performance';
import { Bash, InMemoryFs } from 'just-bash/browser';
import { errorParts } from '../core/errors';
import { executionLimits, limitOf, type TerminalLimit } from './shell-limits';
import type { VerifierShell } from './task';
import { withVirtualGlobals } from './virtual-globals';
import { returnPerformanceNow } from './virtual-performance';

returnPerformanceNow();

/** Working directory, where the task's files lie. */
export const WORK_DIR = '/work';

/** Characters of output that are handed on; far more than any observation cap, few enough to store every step. */
const MAX_OUTPUT = 16_384;

export interface TerminalResult {
  /** stdout and stderr in the order in which a terminal shows them (an inner `sh` shows its errors last). */
  readonly output: string;
  readonly exitCode: number;
  /** The command asked the shell to exit. */
  readonly exited: boolean;
  /** Set when the command was stopped before its end. */
  readonly limit?: TerminalLimit;
  /** The wall clock stopped it (`limit` is `time`): the run is no longer reproducible. */
  readonly killed?: true;
}

export interface TerminalOptions {
  readonly files: Readonly<Record<string, string>>;
  /** Commands that exist besides the builtins, by just-bash's names. */
  readonly commands: readonly string[];
  /** Unsigned 32-bit keys of `$RANDOM`. */
  readonly seed: number;
  readonly stream: number;
}

type CommandNames = NonNullable<ConstructorParameters<typeof Bash>[0]>['commands'];
type Script = ReturnType<Bash['transform']>['ast'];

/** A shell that keeps its files and its working directory from command to command (as `cd` expects), not variables. */
export class Terminal implements VerifierShell {
  private readonly fs: InMemoryFs;
  private readonly bash: Bash;
  private readonly seed: number;
  private readonly stream: number;
  /** `exec 2>&1`, parsed. */
  private readonly merge: Script['statements'];
  private cwd = WORK_DIR;
  private commandNumber = 0;
  /** What to put in front of the next parsed script: not as text, so that messages keep their line and column. */
  private prelude: Script['statements'] | undefined;

  private constructor(options: TerminalOptions) {
    this.seed = options.seed;
    this.stream = options.stream;
    const paths = Object.entries(options.files).map(([name, content]) => [`${WORK_DIR}/${name}`, content] as const);
    this.fs = new InMemoryFs(Object.fromEntries(paths), { maxTotalBytes: executionLimits.maxFileSystemBytes });
    this.bash = new Bash({
      fs: this.fs,
      cwd: WORK_DIR,
      commands: [...options.commands] as CommandNames,
      executionLimitProfile: 'hardened',
      executionLimits,
      sleep: async () => {},
      // It would patch globals of the whole thread while a command runs. Commands cannot run JavaScript, and the boundary is
      // the worker.
      defenseInDepth: false,
    });
    this.merge = this.bash.transform('exec 2>&1').ast.statements;
    this.bash.registerTransformPlugin({
      name: 'merge-streams',
      transform: ({ ast }) => {
        const prelude = this.prelude;
        if (!prelude) return { ast };
        this.prelude = undefined; // scripts inside the command (`sh`, `$(…)`) inherit the merged stream
        return { ast: { ...ast, statements: [...prelude, ...ast.statements] } };
      },
    });
  }

  static open(options: TerminalOptions): Promise<Terminal> {
    const time = { seed: options.seed, stream: options.stream, command: 0 };
    return withVirtualGlobals(time, async () => new Terminal(options));
  }

  /** Runs one command line. Never rejects: whatever the shell makes of it is the output. */
  async run(command: string): Promise<TerminalResult> {
    const time = { seed: this.seed, stream: this.stream, command: ++this.commandNumber };
    return withVirtualGlobals(time, () => this.execute(command));
  }

  private async execute(command: string): Promise<TerminalResult> {
    if (command.trim() === '') return { output: '', exitCode: 0, exited: false };
    this.prelude = this.merge;
    try {
      const { stdout, stderr, exitCode, env } = await this.bash.exec(command, { cwd: this.cwd });
      const all = stdout + stderr;
      const output = all.length > MAX_OUTPUT ? `${all.slice(0, MAX_OUTPUT)}\n[cut]\n` : all;
      // Only a script that ran to its end reports `?`. What is left outside the merged stream says why it did not.
      const finished = '?' in env;
      if (finished && env.PWD) this.cwd = env.PWD;
      const limit = finished ? undefined : limitOf(exitCode, all);
      const exited = !finished && limit === undefined && (stderr === '' || stderr.includes('bash: exit:'));
      return { output, exitCode, exited, ...(limit && { limit }) };
    } catch (thrown) {
      // A bug of the shell, not of the command: it still must not end the run.
      return { output: `bash: ${errorParts(thrown).what}\n`, exitCode: 2, exited: false };
    } finally {
      this.prelude = undefined;
    }
  }

  async read(path: string): Promise<string | undefined> {
    const file = `${WORK_DIR}/${path}`;
    return (await this.fs.exists(file)) && (await this.fs.stat(file)).isFile ? this.fs.readFile(file) : undefined;
  }

  async write(path: string, content: string): Promise<void> {
    const file = `${WORK_DIR}/${path}`;
    await this.fs.rm(file, { recursive: true, force: true });
    await this.fs.writeFile(file, content);
  }

  async list(): Promise<string[]> {
    return (await this.fs.exists(WORK_DIR)) ? (await this.fs.readdir(WORK_DIR)).sort() : [];
  }

  /** Back to the working directory, for the verifier. */
  home(): void {
    this.cwd = WORK_DIR;
  }
}
