/** Comma-separated values (RFC 4180, lines ended by \n). */

export type CsvField = string | number | null;

/** Rows as text: fields quoted where they must be, null as an empty field. */
export function csv(rows: readonly (readonly CsvField[])[]): string {
  return rows.map((row) => `${row.map(field).join(',')}\n`).join('');
}

function field(value: CsvField): string {
  const text = String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
