/**
 * The `lab` command line without the process around it. Every file in `commands/` with a default export of type Command is a command; it is
 * loaded only when called, so that `lab tasks` does not pay for the GPU.
 */
import { errorParts, formatError, LabError } from '../core/errors';
import { parseCommand, readRequest, unknownCommand } from './arguments';
import type { Command, CommandIo } from './command';
import { commandHelp, overview } from './help';

const modules = import.meta.glob<{ default: Command }>('./commands/*.ts');
const loaders = new Map(
  Object.entries(modules).map(([path, load]) => [path.replace(/^.*\/|\.ts$/g, ''), load] as const),
);

async function loadCommand(name: string): Promise<Command> {
  const load = loaders.get(name);
  if (!load) throw unknownCommand(name, [...loaders.keys()]);
  const command = (await load()).default;
  if (command?.name !== name) {
    throw new LabError({
      code: 'internal.command',
      what: 'A command file must have a default export with the name of the file',
      where: `src/headless/commands/${name}.ts`,
      expected: name,
      got: String(command?.name),
    });
  }
  return command;
}

/**
 * Runs one command line.
 * @param words arguments after the script's own path
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage, or what the command says
 */
export async function runLab(words: readonly string[], io: CommandIo): Promise<number> {
  try {
    const request = readRequest(words);
    if (request.kind === 'help') {
      if (request.topic !== undefined) io.out(commandHelp(await loadCommand(request.topic)));
      else io.out(overview(await Promise.all([...loaders.keys()].sort().map(loadCommand))));
      return 0;
    }
    const command = await loadCommand(request.name);
    return (await command.run(parseCommand(command, request.rest, io))) ?? 0;
  } catch (thrown) {
    return reportError(thrown, io);
  }
}

/** One line on stderr (with the stack when LAB_DEBUG is set); returns the exit code. */
export function reportError(thrown: unknown, io: CommandIo): number {
  const parts = errorParts(thrown);
  io.err(`error: ${formatError(parts).replace(/\s*\n\s*/g, ' ')}\n`);
  if (process.env.LAB_DEBUG && thrown instanceof Error) io.err(`${thrown.stack}\n`);
  return parts.code.startsWith('usage.') ? 2 : 1;
}
