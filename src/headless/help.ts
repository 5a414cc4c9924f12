/** The texts of `lab --help` and `lab <command> --help`. */
import type { Command, InputHelp } from './command';

/** Overview of all commands. */
export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => command.name.length));
  const lines = commands.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`);
  return `lab: CompactionRL on the command line (WebGPU through Dawn)

Usage: npm run --silent lab -- <command> [arguments]

${lines.join('\n')}

lab <command> --help tells more. Results are JSON lines on stdout; progress and errors go to stderr.
Exit code: 0 done, 1 failed, 2 wrong usage, 3 not all done (experiment: other processes hold the rest), 130 interrupted.
`;
}

/** One command with its flags. */
export function commandHelp(command: Command): string {
  const options = Object.entries(command.options ?? {});
  const names = options.map(([name, spec]) => `--${name}${spec.type === 'string' ? ' <value>' : ''}`);
  const width = Math.max(0, ...names.map((name) => name.length));
  const lines = options.map(([, spec], i) => `  ${names[i]!.padEnd(width)}  ${spec.help}`);
  return `${command.summary}\n\nUsage: lab ${command.usage}\n${lines.length > 0 ? `\n${lines.join('\n')}\n` : ''}${command.input ? inputHelp(command.input) : ''}`;
}

/** How an input looks: its fields, one to paste, and what comes out. No input holds a single quote. */
function inputHelp({ what, fields, example }: InputHelp): string {
  const widths = ([0, 1] as const).map((i) => Math.max(...fields.map((field) => field[i].length)));
  const rows = fields.map(
    ([key, shape, meaning]) => `  ${key.padEnd(widths[0]!)}  ${shape.padEnd(widths[1]!)}  ${meaning}`,
  );
  const command = `npm run --silent lab -- ${example.command}`;
  const call = example.file
    ? `  echo '${example.text}' > ${example.file}\n  ${command}`
    : `  echo '${example.text}' | ${command}`;
  const output = example.output.split('\n').map((line) => `  ${line}`);
  const elided = example.output.includes('…') ? ' (… is left out here)' : '';
  return `\n${what}:\n${rows.join('\n')}\n\nExample:\n${call}\nprints${elided}:\n${output.join('\n')}\n`;
}
