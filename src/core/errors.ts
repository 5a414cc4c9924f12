/**
 * The one error a user sees: it says what went wrong, where, what was expected, what was got, and how to mend it.
 */
export interface LabErrorParts {
  /** Stable machine-readable code, e.g. `config.unknown-key`. */
  readonly code: string;
  /** What went wrong, one sentence. */
  readonly what: string;
  /** Where: a key path, a file, a line, a kernel. */
  readonly where?: string;
  readonly expected?: string;
  readonly got?: string;
  /** How to mend it. */
  readonly fix?: string;
}

/** An error that carries its parts across workers, the terminal and the page. */
export class LabError extends Error {
  readonly parts: LabErrorParts;
  constructor(parts: LabErrorParts, options?: { cause?: unknown }) {
    super(formatError(parts), options);
    this.name = 'LabError';
    this.parts = parts;
  }
  get code(): string {
    return this.parts.code;
  }
}

/** One line of text: `what (where): expected …, got …. fix`. */
export function formatError(parts: LabErrorParts): string {
  const where = parts.where ? ` at ${parts.where}` : '';
  const detail = [
    parts.expected === undefined ? '' : `expected ${parts.expected}`,
    parts.got === undefined ? '' : `got ${parts.got}`,
  ].filter(Boolean);
  const tail = detail.length > 0 ? `: ${detail.join(', ')}` : '';
  return `${parts.what}${where}${tail}.${parts.fix ? ` ${parts.fix}` : ''}`;
}

/** An error about the inside of a file, with the file's name in front of the place; anything else as it is. */
export function inFile(thrown: unknown, file: string): unknown {
  if (!(thrown instanceof LabError)) return thrown;
  const name = file.slice(0, 200);
  const { where } = thrown.parts;
  if (where?.includes(name)) return thrown;
  return new LabError({ ...thrown.parts, where: where ? `${name}, ${where}` : name }, { cause: thrown });
}

/** Turns anything thrown (also an error that crossed a worker boundary as a plain object) into error parts. */
export function errorParts(thrown: unknown): LabErrorParts {
  if (thrown instanceof LabError) return thrown.parts;
  if (thrown instanceof Error) return { code: 'internal', what: thrown.message || thrown.name };
  return { code: 'internal', what: String(thrown) };
}
