/**
 * Commands of just-bash that print otherwise than GNU's, dressed as GNU's (shell version 2). The command itself runs in a
 * shell of its own over the same files; its output is rewritten.
 */
import { Bash, type BashOptions, type CommandContext, type CustomCommand, type ExecOptions } from 'just-bash/browser';

interface Result {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}
type Run = (args: readonly string[]) => Promise<Result>;
/** @param run the command of just-bash */
type Dress = (run: Run, args: readonly string[], context: CommandContext) => Promise<Result>;

/** Whether a short option is among the arguments, alone or with others. */
const has = (args: readonly string[], letters: string): boolean =>
  args.some((arg) => new RegExp(`^-[A-Za-z]*[${letters}]`).test(arg));

/** Other words where a file is missing. */
const missing =
  (name: string, words: string, failure?: number) =>
  async (run: Run, args: readonly string[]): Promise<Result> => {
    const { stdout, stderr, exitCode } = await run(args);
    const worded = stderr.replace(new RegExp(`^${name}: (.*): (?=No such file or directory$)`, 'gm'), words);
    return { stdout, stderr: worded, exitCode: failure !== undefined && worded !== stderr ? failure : exitCode };
  };

/** Counts are seven wide. */
const uniq: Dress = async (run, args) => {
  const result = await run(args);
  if (!has(args, 'c') && !args.includes('--count')) return result;
  return { ...result, stdout: result.stdout.replace(/^ *(\d+)/gm, (_, count: string) => count.padStart(7)) };
};

/** Places of the files and folders among the arguments of grep. */
function grepOperands(args: readonly string[]): number[] {
  let patternGiven = false;
  let value = false;
  const places: number[] = [];
  args.forEach((arg, i) => {
    if (value) value = false;
    else if (/^-./.test(arg)) {
      if (/^-[^-]*[ef]|^--(regexp|file)\b/.test(arg)) patternGiven = true;
      value = /^-[A-Za-z]*[efmABC]$/.test(arg);
    } else places.push(i);
  });
  return patternGiven ? places : places.slice(1);
}

/** `grep -r … .` names files from `./` on. */
const grep: Dress = async (run, args, { cwd }) => {
  const operands = grepOperands(args);
  const here = operands.filter((i) => args[i] === '.' || args[i] === './');
  const absolute = operands.some((i) => args[i]!.startsWith('/'));
  if (here.length === 0 || absolute || cwd === '/' || !has(args, 'rR') || has(args, 'h')) return run(args);
  const { stdout, stderr, exitCode } = await run(args.map((arg, i) => (here.includes(i) ? cwd : arg)));
  const named = (text: string, before: string) => text.replaceAll(`\n${before}${cwd}/`, `\n${before}./`).slice(1);
  return { stdout: named(`\n${stdout}`, ''), stderr: named(`\n${stderr}`, 'grep: '), exitCode };
};

/** Files, then folders, each sorted; no empty line between files. */
const ls: Dress = async (run, args, { fs, cwd }) => {
  const named = missing('ls', "ls: cannot access '$1': ");
  const operands = args.filter((arg) => !arg.startsWith('-'));
  // Other orders, and what heads its lists itself.
  if (operands.length < 2 || has(args, 'tSrUXR') || args.some((arg) => arg.startsWith('--'))) return named(run, args);
  const options = args.filter((arg) => arg.startsWith('-'));
  const asFile = async (path: string) => {
    const full = fs.resolvePath(cwd, path);
    return has(options, 'd') || !(await fs.exists(full)) || !(await fs.stat(full)).isDirectory;
  };
  let files = '';
  let stderr = '';
  let exitCode = 0;
  const lists: string[] = [];
  for (const path of [...operands].sort()) {
    const result = await named(run, [...options, path]);
    if (await asFile(path)) files += result.stdout;
    else lists.push(`${path}:\n${result.stdout}`);
    stderr += result.stderr;
    exitCode = Math.max(exitCode, result.exitCode);
  }
  return { stdout: [...(files ? [files] : []), ...lists].join('\n'), stderr, exitCode };
};

/** One change of the normal format: lines of the first file from `from` on by those of the second from `to` on. */
function change(from: number, removed: readonly string[], to: number, added: readonly string[]): string {
  const count = (lines: readonly string[]) => lines.filter((line) => !line.startsWith('\\')).length;
  const range = (start: number, n: number) => (n === 1 ? `${start}` : `${start},${start + n - 1}`);
  const [less, more] = [count(removed), count(added)];
  const left = less > 0 ? range(from, less) : `${from - 1}`;
  const right = more > 0 ? range(to, more) : `${to - 1}`;
  const body = (sign: string, lines: readonly string[]) =>
    lines.map((line) => (line.startsWith('\\') ? `${line}\n` : `${sign} ${line.slice(1)}\n`)).join('');
  const letter = less === 0 ? 'a' : more === 0 ? 'd' : 'c';
  return `${left}${letter}${right}\n${body('<', removed)}${letter === 'c' ? '---\n' : ''}${body('>', added)}`;
}

/** The unified format as the normal one, which POSIX asks for. */
function normalFormat(unified: string): string {
  let output = '';
  let [from, to] = [0, 0];
  let removed: string[] = [];
  let added: string[] = [];
  let last = removed;
  const flush = () => {
    if (removed.length + added.length === 0) return;
    output += change(from, removed, to, added);
    from += removed.filter((line) => line.startsWith('-')).length;
    to += added.filter((line) => line.startsWith('+')).length;
    [removed, added] = [[], []];
  };
  for (const line of unified.split('\n').slice(0, -1)) {
    const start = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (start) {
      flush();
      // An empty range names the line before it.
      from = Number(start[1]) + (start[2] === '0' ? 1 : 0);
      to = Number(start[3]) + (start[4] === '0' ? 1 : 0);
    } else if (line.startsWith('-') || line.startsWith('+')) {
      last = line.startsWith('-') ? removed : added;
      last.push(line);
    } else if (line.startsWith('\\')) {
      if (removed.length + added.length > 0) last.push(line);
    } else {
      flush();
      from++;
      to++;
    }
  }
  flush();
  return output;
}

const diff: Dress = async (run, args) => {
  const result = await run(args);
  const banner = /^=+\n(?=--- )/;
  if (!banner.test(result.stdout)) return result;
  const unified = result.stdout.replace(banner, '');
  const asked = has(args, 'uU') || args.some((arg) => arg.startsWith('--unified'));
  return { ...result, stdout: asked ? unified : normalFormat(unified.replace(/^--- .*\n\+\+\+ .*\n/, '')) };
};

const dressed: ReadonlyMap<string, Dress> = new Map([
  ['diff', diff],
  ['grep', grep],
  ['ls', ls],
  ['uniq', uniq],
  ['head', missing('head', "head: cannot open '$1' for reading: ")],
  ['tail', missing('tail', "tail: cannot open '$1' for reading: ")],
  ['find', missing('find', "find: '$1': ")],
  ['sort', missing('sort', 'sort: cannot read: $1: ', 2)],
]);

/** Those of the named commands that are dressed. @param options of the shell they are for */
export function gnuCommands(names: readonly string[], options: BashOptions): CustomCommand[] {
  let shell: Bash | undefined; // built when the first of them runs
  return names.flatMap((name): CustomCommand[] => {
    const dress = dressed.get(name);
    if (!dress) return [];
    const execute = (args: string[], context: CommandContext) => {
      shell ??= new Bash(options);
      const inner = shell;
      const run: Run = async (given) => {
        const { cwd, stdin } = context;
        const options: ExecOptions = { args: [...given], cwd, stdin: String(stdin), stdinKind: 'bytes' };
        const { stdout, stderr, exitCode } = await inner.exec(name, options);
        return { stdout, stderr, exitCode };
      };
      return dress(run, args, context);
    };
    return [{ name, trusted: true, execute }];
  });
}
