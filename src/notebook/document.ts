/** The notebook document: a title and an ordered list of cells. What a page shows, a draft stores and a link carries. */

import * as v from 'valibot';
import { LabError } from '../core/errors';
import { requireShallow } from '../core/json-depth';
import { type Cell, cellSchema, cellTypes } from './cells';
import { limits } from './limits';

export const DOCUMENT_VERSION = 1;

export interface NotebookDocument {
  readonly version: typeof DOCUMENT_VERSION;
  readonly title: string;
  readonly cells: readonly Cell[];
}

const proseChars = (cells: readonly Cell[]): number =>
  cells.reduce((sum, cell) => sum + (cell.kind === 'prose' ? cell.markdown.length : 0), 0);

const documentSchema = v.strictObject({
  version: v.literal(DOCUMENT_VERSION),
  title: v.optional(v.pipe(v.string(), v.maxLength(limits.titleChars)), ''),
  cells: v.optional(
    v.pipe(
      v.array(cellSchema),
      v.maxLength(limits.cells),
      v.check(
        (cells) => proseChars(cells) <= limits.totalProseChars,
        `expected at most ${limits.totalProseChars} characters of prose`,
      ),
    ),
    [],
  ),
});

/** Where a document came from; the first part of the error code. */
export type DocumentSource = 'link' | 'file' | 'draft' | 'notebook';

const fixes: Record<DocumentSource, string> = {
  link: 'Ask for a fresh link, or open the notebook as a file.',
  file: 'Choose a notebook file saved by this page.',
  draft: 'Open another notebook; the draft itself is left as it is.',
  notebook: 'Change the notebook accordingly.',
};

/**
 * Parses an untrusted value into a document; absent keys take their defaults.
 * @throws LabError `<source>.invalid` naming the first wrong place, `<source>.version` for a version this build cannot read
 */
export function parseDocument(input: unknown, source: DocumentSource = 'notebook'): NotebookDocument {
  requireShallow(input, 'document', { code: `${source}.invalid`, fix: fixes[source] });
  const version = typeof input === 'object' && input !== null && 'version' in input ? input.version : undefined;
  if (typeof version === 'number' && version !== DOCUMENT_VERSION) throw versionError(version, source);
  const result = v.safeParse(documentSchema, input);
  if (result.success) return result.output as NotebookDocument;
  const [issue] = result.issues;
  const more = result.issues.length - 1;
  throw new LabError({
    code: `${source}.invalid`,
    what: `This is not a valid notebook${more > 0 ? ` (${more + 1} problems, the first one shown)` : ''}`,
    where: v.getDotPath(issue) ?? 'document',
    expected: issue.expected === 'never' ? 'no such key' : (issue.expected ?? stripExpected(issue.message)),
    got: issue.received.slice(0, 80),
    fix: fixes[source],
  });
}

/** `expected …` messages of our own checks already start with the word that the error line adds. */
function stripExpected(message: string): string {
  return message.replace(/^expected /, '');
}

/** The error for a document of another version. */
export function versionError(version: number | string, source: DocumentSource): LabError {
  return new LabError({
    code: `${source}.version`,
    what: 'This notebook was made by another version of the page',
    expected: `notebook version ${DOCUMENT_VERSION}`,
    got: `version ${String(version).slice(0, 16)}`,
    fix: 'Reload the page to get the newest version, then open it again.',
  });
}

/** The document without the keys that equal their defaults: what a link carries. `parseDocument` restores them. */
export function compactDocument(document: NotebookDocument): Record<string, unknown> {
  const cells = document.cells.map((cell) => withoutDefaults(cell, cellTypes[cell.kind].schema.entries));
  return withoutDefaults({ ...document, cells }, documentSchema.entries);
}

function withoutDefaults(value: object, entries: Readonly<Record<string, v.GenericSchema>>): Record<string, unknown> {
  const isDefault = (key: string, part: unknown): boolean => {
    const schema = entries[key];
    if (schema === undefined) return false;
    const standard = v.getDefault(schema);
    return standard !== undefined && JSON.stringify(standard) === JSON.stringify(part);
  };
  return Object.fromEntries(Object.entries(value).filter(([key, part]) => !isDefault(key, part)));
}

/** A notebook as the text of a file. */
export function documentToFile(document: NotebookDocument): string {
  return `${JSON.stringify(parseDocument(document), null, 2)}\n`;
}

/**
 * Reads a notebook file.
 * @throws LabError file.too-large, file.invalid, file.version
 */
export function documentFromFile(text: string): NotebookDocument {
  // Indentation and escapes make a file larger than the JSON inside a link, never this much larger.
  if (text.length > 2 * limits.jsonBytes)
    throw new LabError({
      code: 'file.too-large',
      what: 'The file is too large for a notebook',
      expected: `at most ${2 * limits.jsonBytes} characters`,
      got: `${text.length}`,
      fix: fixes.file,
    });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new LabError(
      { code: 'file.invalid', what: 'The file is not JSON', got: JSON.stringify(text.slice(0, 40)), fix: fixes.file },
      { cause },
    );
  }
  return parseDocument(value, 'file');
}
