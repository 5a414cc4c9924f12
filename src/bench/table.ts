/** Results for people. */
import type { Spread } from '../run/measure/rounds';
import type { BenchResult } from './bench';

/** Three significant digits, thousands apart: `0.0123`, `4.56`, `78,900`. */
export function digits(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** `median (min–max)` */
export function spreadText({ median, min, max }: Spread): string {
  return `${digits(median)} (${digits(min)}–${digits(max)})`;
}

/** Columns padded to their widest cell; the first row is the heading. */
export function tableText(rows: BenchResult['table']): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? digits(cell) : cell)));
  const widths = (cells[0] ?? []).map((_, c) => Math.max(...cells.map((row) => row[c]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, c) => cell.padEnd(widths[c]!))
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  return cells.flatMap((row, i) => (i === 0 ? [line(row), rule] : [line(row)])).join('\n');
}
