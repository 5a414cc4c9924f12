/** What a command may use up. Counts, not seconds, so that a limit is hit at the same place on every machine. */

/** What stopped a command before its end; the episode then ends with `command-limit`. `time` comes from the pool alone. */
export type TerminalLimit = 'commands' | 'loops' | 'depth' | 'output' | 'memory' | 'time';

/**
 * Generous for any task (the longest command, `sh test.sh`, runs about 20 commands), small enough that the worst one, an
 * empty endless loop, ends within ~0.1 s.
 */
export const executionLimits = {
  maxCommandCount: 500,
  maxLoopIterations: 500,
  maxSedIterations: 2_000,
  maxAwkIterations: 2_000,
  maxCallDepth: 50,
  maxExecDepth: 16,
  maxSubstitutionDepth: 16,
  maxSourceBytes: 64 * 1024,
  maxOutputSize: 64 * 1024,
  maxStringLength: 256 * 1024,
  maxHeredocSize: 64 * 1024,
  maxArrayElements: 10_000,
  maxBraceExpansionResults: 2_000,
  maxGlobOperations: 10_000,
  maxFileSystemBytes: 1024 * 1024,
  maxLiveBytes: 8 * 1024 * 1024,
  maxInputBytes: 1024 * 1024,
  // Never reached: the clock stands still during a command. Hanging workers are ended from outside (pool.ts).
  maxExecutionTimeMs: 600_000,
} as const;

/** just-bash reports a limit with this exit code and one of these wordings in the last line. */
export const LIMIT_EXIT_CODE = 126;
const patterns: readonly (readonly [RegExp, TerminalLimit])[] = [
  [/maxCommandCount/, 'commands'],
  [/iterations?\b/, 'loops'],
  [/maxOutputSize|output size/, 'output'],
  [/depth|recursion/, 'depth'],
  [/limit|executionLimits|exceeded/, 'memory'],
];

/** Which limit ended a command that did not run to its end, undefined if none did. */
export function limitOf(exitCode: number, output: string): TerminalLimit | undefined {
  if (exitCode !== LIMIT_EXIT_CODE) return undefined;
  const lastLine = output.trimEnd().split('\n').pop() ?? '';
  return patterns.find(([pattern]) => pattern.test(lastLine))?.[1];
}
