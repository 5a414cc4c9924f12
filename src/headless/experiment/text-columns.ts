/** Numbers and columns of the reports on a terminal. */

/** A share in % with one digit, without the sign. */
export const percent = (share: number) => (100 * share).toFixed(1);

/** A number with its sign, also where it is 0; minus as in print. */
export const signed = (text: string) => (text.startsWith('-') ? text.replace('-', '−') : `+${text}`);

/**
 * Rows as lines of equal width, two spaces between columns.
 * @param left how many of the first columns are aligned left, the others right; none if left out
 */
export function aligned(rows: readonly (readonly string[])[], left = 0): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const cell = (text: string, column: number) =>
    column < left ? text.padEnd(widths[column]!) : text.padStart(widths[column]!);
  return rows.map((row) => row.map(cell).join('  '));
}
