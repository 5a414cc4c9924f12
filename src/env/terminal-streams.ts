/**
 * Errors reach the terminal and not the pipe, as in bash after `exec 2>&1` (shell version 2). just-bash gives stdout and
 * stderr of a whole script apart, without their order, and lets no redirection overrule a lasting `exec 2>&1`. So the parsed
 * script is rewritten before it runs: `2>&1` goes on each command whose stdout is the terminal, and on no other. The errors
 * of earlier stages of a pipeline and of substitutions are held in a file, and shown before what the command prints.
 */
import type { Bash, CommandContext, CustomCommand } from 'just-bash/browser';

export type Script = ReturnType<Bash['transform']>['ast'];
type Statement = Script['statements'][number];
type Pipeline = Statement['pipelines'][number];
type Command = Pipeline['commands'][number];
type Redirection = Command['redirections'][number];
type Word = Extract<Redirection['target'], { type: 'Word' }>;

const heldErrors = '/dev/.held-errors';
const heldOutput = '/dev/.held-output';
const showHeld = '.show-held';
const nextScript = '.next-script';

type Files = Pick<CommandContext['fs'], 'exists' | 'readFile' | 'rm'>;

/** What is held, errors first; it is held no more. */
export async function takeHeld(fs: Files): Promise<string> {
  let held = '';
  for (const path of [heldErrors, heldOutput]) {
    if (!(await fs.exists(path))) continue;
    held += await fs.readFile(path);
    await fs.rm(path);
  }
  return held;
}

/** Prints what is held and leaves `$?`, its argument, as it was. */
export const showHeldCommand: CustomCommand = {
  name: showHeld,
  trusted: true,
  execute: async ([status], { fs }) => ({ stdout: await takeHeld(fs), stderr: '', exitCode: Number(status) }),
};

/**
 * Says whether the next script that `sh` runs writes to the terminal, and leaves `$?`, its first argument, as it was.
 * @param tell called when it says so
 */
export const nextScriptCommand = (tell: (onTerminal: boolean) => void): CustomCommand => ({
  name: nextScript,
  trusted: true,
  execute: async ([status, on]) => {
    tell(on === 'on');
    return { stdout: '', stderr: '', exitCode: Number(status) };
  },
});

const word = (value: string): Word => ({ type: 'Word', parts: [{ type: 'Literal', value }] });
const redirection = (fd: number, operator: Redirection['operator'], target: string): Redirection => ({
  type: 'Redirection',
  fd,
  operator,
  target: word(target),
});
const errorsToOutput = redirection(2, '>&', '1');
const holdErrors = redirection(2, '>>', heldErrors);
const holdOutput = redirection(1, '>>', heldOutput);

const statement = (command: Command): Statement => ({
  type: 'Statement',
  pipelines: [{ type: 'Pipeline', commands: [command], negated: false }],
  operators: [],
  background: false,
});
/** One of the commands above, which keep `$?`. */
const own = (name: string, ...args: string[]): Statement =>
  statement({
    type: 'SimpleCommand',
    assignments: [],
    name: word(name),
    args: [
      { type: 'Word', parts: [{ type: 'ParameterExpansion', parameter: '?', operation: null }] },
      ...args.map(word),
    ],
    redirections: [],
  });
const show = own(showHeld);
const group = (body: Statement[], redirections: Redirection[] = []): Command => ({ type: 'Group', body, redirections });

/** In front of the command's own redirections, which may overrule it. */
const withFirst = <C extends Command>(command: C, ...first: Redirection[]): C => ({
  ...command,
  redirections: [...first, ...command.redirections],
});

/** Whether a node of one of these types lies anywhere below. */
function contains(node: unknown, found: (node: { readonly type?: unknown }) => boolean): boolean {
  if (typeof node !== 'object' || node === null) return false;
  return found(node) || Object.values(node).some((child) => contains(child, found));
}
const substitutes = (node: unknown): boolean =>
  contains(node, ({ type }) => type === 'CommandSubstitution' || type === 'ArithCommandSubst');
const named = (name: unknown, names: readonly unknown[]): boolean =>
  contains(name, (part) => 'value' in part && names.includes(part.value));
const isExec = (node: { readonly type?: unknown; readonly name?: unknown }): boolean =>
  node.type === 'SimpleCommand' && named(node.name, ['exec']);

/** just-bash drops the errors of expansions where a redirection of the command itself takes them. */
const namesProgram = (command: Command): boolean => command.type === 'SimpleCommand' && command.name !== null;
/** A command that expands a substitution: its errors come before its output. */
const held = (command: Command): Command => {
  const inner = namesProgram(command) ? withFirst(command, errorsToOutput) : command;
  return group([statement(group([statement(inner)], [holdOutput, holdErrors])), show]);
};
/** `expanded`: the words of a command that are expanded before it runs. */
const shown = (command: Command, expanded: unknown): Command => {
  if (substitutes(expanded)) return held(command);
  return command.type === 'SimpleCommand' && !namesProgram(command) ? command : withFirst(command, errorsToOutput);
};

/** The inner commands of a command write to the terminal only when its stdout and stderr are not redirected. */
const onlyReads = ({ redirections }: Command): boolean =>
  redirections.every(({ operator }) => operator.startsWith('<') && operator !== '<>');

/** A script whose output and errors both go where the command's do. A substitution might run another before it. */
const runsScript = (command: Extract<Command, { type: 'SimpleCommand' }>): boolean =>
  named(command.name, ['sh', 'bash']) && onlyReads(command) && !substitutes(command);

function onTerminal(command: Command): Command {
  if (command.type === 'FunctionDef') return command; // runs where it is called
  if (command.type === 'SimpleCommand') {
    if (!runsScript(command)) return shown(command, command);
    const run = statement(withFirst(command, errorsToOutput));
    return group([own(nextScript, 'on'), run, own(nextScript, 'off')]);
  }
  if (!onlyReads(command)) return withFirst(command, errorsToOutput);
  switch (command.type) {
    case 'If':
      return {
        ...command,
        clauses: command.clauses.map(({ condition, body }) => ({
          condition: condition.map(rewrite),
          body: body.map(rewrite),
        })),
        elseBody: command.elseBody?.map(rewrite) ?? null,
        redirections: [errorsToOutput, ...command.redirections],
      };
    case 'While':
    case 'Until':
      return withFirst(
        { ...command, condition: command.condition.map(rewrite), body: command.body.map(rewrite) },
        errorsToOutput,
      );
    case 'Group':
    case 'Subshell':
      return withFirst({ ...command, body: command.body.map(rewrite) }, errorsToOutput);
    case 'For':
      return shown({ ...command, body: command.body.map(rewrite) }, command.words);
    case 'CStyleFor':
      return shown({ ...command, body: command.body.map(rewrite) }, [command.init, command.condition, command.update]);
    case 'Case':
      return shown({ ...command, items: command.items.map((item) => ({ ...item, body: item.body.map(rewrite) })) }, [
        command.word,
        command.items.map(({ patterns }) => patterns),
      ]);
    case 'ArithmeticCommand':
    case 'ConditionalCommand':
      return shown(command, command.expression);
  }
}

function rewritePipeline(pipeline: Pipeline): Pipeline {
  const { commands, pipeStderr } = pipeline;
  const stages = commands.map((command, i) => {
    if (i === commands.length - 1) return onTerminal(command);
    return pipeStderr?.[i] ? command : withFirst(command, holdErrors);
  });
  const last = stages.pop();
  if (!last || stages.length === 0) return { ...pipeline, commands: last ? [last] : [] };
  return { ...pipeline, commands: [...stages, group([show, statement(last)])] };
}

function rewrite(node: Statement): Statement {
  return { ...node, pipelines: node.pipelines.map(rewritePipeline) };
}

/** The script with its errors shown where a terminal shows them. Redirections that `exec` makes last would be overruled. */
export function errorsOnTerminal(script: Script): Script {
  return contains(script, isExec) ? script : { ...script, statements: script.statements.map(rewrite) };
}
