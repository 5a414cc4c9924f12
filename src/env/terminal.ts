/**
 * One virtual machine: a just-bash shell over its own in-memory file system. No host files, no network, no clock: the same
 * commands give the same bytes on every machine (shell-limits.ts, virtual-globals.ts).
 */
// First: just-bash takes its stopwatch while it is being loaded.
import './virtual-performance';
import { Bash, type BashOptions, InMemoryFs } from 'just-bash/browser';
import { errorParts } from '../core/errors';
import type { ShellVersion } from '../core/shell-version';
import { gnuCommands } from './gnu-commands';
import { executionLimits, LIMIT_EXIT_CODE, limitOf, type TerminalLimit } from './shell-limits';
import { nestingFault } from './shell-nesting';
import type { VerifierShell } from './task';
import { errorsOnTerminal, nextScriptCommand, type Script, showHeldCommand, takeHeld } from './terminal-streams';
import { withVirtualGlobals } from './virtual-globals';
import { returnPerformanceNow } from './virtual-performance';

returnPerformanceNow();

/** Working directory, where the task's files lie. */
export const WORK_DIR = '/work';

/** Characters of output that are handed on; far more than any observation cap, few enough to store every step. */
const MAX_OUTPUT = 16_384;

export interface TerminalResult {
  /** stdout and stderr in the order in which a terminal shows them (in version 1, an inner `sh` shows its errors last). */
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
  readonly shell: ShellVersion;
}

type CommandNames = NonNullable<ConstructorParameters<typeof Bash>[0]>['commands'];

/** A shell that keeps its files and its working directory from command to command (as `cd` expects), not variables. */
export class Terminal implements VerifierShell {
  private readonly fs: InMemoryFs;
  private readonly bash: Bash;
  private readonly seed: number;
  private readonly stream: number;
  private readonly shell: ShellVersion;
  private readonly mergeStreams: (script: Script) => Script;
  private cwd = WORK_DIR;
  private commandNumber = 0;
  /** How the next parsed script is changed. Not as text, so that messages keep their line and column. */
  private change: ((script: Script) => Script) | undefined;

  private constructor(options: TerminalOptions) {
    this.seed = options.seed;
    this.stream = options.stream;
    this.shell = options.shell;
    const paths = Object.entries(options.files).map(([name, content]) => [`${WORK_DIR}/${name}`, content] as const);
    this.fs = new InMemoryFs(Object.fromEntries(paths), { maxTotalBytes: executionLimits.maxFileSystemBytes });
    const tell = (onTerminal: boolean) => {
      this.change = onTerminal ? errorsOnTerminal : undefined;
    };
    const shell: BashOptions = {
      fs: this.fs,
      cwd: WORK_DIR,
      commands: [...options.commands] as CommandNames,
      executionLimitProfile: 'hardened',
      executionLimits,
      sleep: async () => {},
      // It would patch globals of the whole thread while a command runs. Commands cannot run JavaScript, and the boundary is
      // the worker.
      defenseInDepth: false,
    };
    const added = [showHeldCommand, nextScriptCommand(tell), ...gnuCommands(options.commands, shell)];
    this.bash = new Bash(options.shell === 1 ? shell : { ...shell, customCommands: added });
    if (options.shell === 1) {
      const merge = this.bash.transform('exec 2>&1').ast.statements;
      this.mergeStreams = (script) => ({ ...script, statements: [...merge, ...script.statements] });
    } else this.mergeStreams = errorsOnTerminal;
    this.bash.registerTransformPlugin({
      name: 'merge-streams',
      transform: ({ ast }) => {
        const change = this.change;
        this.change = undefined; // not of scripts inside the command (`sh`), unless it says so
        return { ast: change ? change(ast) : ast };
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
    const fault = nestingFault(command);
    if (fault) return { output: fault, exitCode: LIMIT_EXIT_CODE, exited: false, limit: 'depth' };
    this.change = this.mergeStreams;
    try {
      const { stdout, stderr, exitCode, env } = await this.bash.exec(command, { cwd: this.cwd });
      const all = stdout + (this.shell > 1 ? await takeHeld(this.fs) : '') + stderr;
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
      this.change = undefined;
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
