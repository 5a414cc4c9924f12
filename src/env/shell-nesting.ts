/** Brackets inside each other that the shell's lexer would follow down the engine's stack, which differs between machines. */

/** As deep as just-bash's parser follows what its lexer has read. */
export const MAX_OPEN_BRACKETS = 200;

const LITERAL = /\\[\s\S]|'[^']*'/g;
const RUN = new RegExp(`\\({${MAX_OPEN_BRACKETS + 1}}`);

/** Said instead of running a command that opens more round brackets in a row, outside single quotes; else undefined. */
export function nestingFault(command: string): string | undefined {
  return RUN.test(command.replace(LITERAL, "''"))
    ? `bash: maximum nesting depth exceeded (${MAX_OPEN_BRACKETS} open brackets in a row)\n`
    : undefined;
}
