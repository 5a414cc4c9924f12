/** Numbers, durations and sizes as the page writes them. */

/** A share as a percentage: 0.875 → "88 %". */
export const percent = (share: number): string => `${Math.round(share * 100)}\u202f%`;

/** A number with about `digits` significant digits, never in exponent form where that can be read. */
export function compact(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toPrecision(digits)}\u202fM`;
  if (size >= 10_000) return `${(value / 1e3).toPrecision(digits)}\u202fk`;
  if (size < 1e-4) return value.toExponential(1);
  return String(Number(value.toPrecision(digits)));
}

/** A duration in words a person reads at a glance: "42 s", "3 min 10 s", "1 h 5 min". */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}\u202fs`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}\u202fmin${minutes < 10 && seconds % 60 ? ` ${seconds % 60}\u202fs` : ''}`;
  return `${Math.floor(minutes / 60)}\u202fh ${minutes % 60}\u202fmin`;
}

/** A size: "812 B", "3.4 kB", "12 MB" (decimal units). */
export function bytes(size: number): string {
  if (size < 1000) return `${Math.round(size)}\u202fB`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = size;
  let unit = -1;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)}\u202f${units[unit]}`;
}

/** Records count iterations from 0, as files and the command line do; people count from 1. */
export const ordinal = (iteration: number): number => iteration + 1;

/** "1 compaction", "3 compactions". */
export const count = (n: number, singular: string, plural = `${singular}s`): string =>
  `${n} ${n === 1 ? singular : plural}`;

/** A day: "29 Nov 2026". */
export function day(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return date.toLocaleDateString(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
}

/** A date for a list: "29 Nov, 16:20". */
export function shortDate(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return date.toLocaleString(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
}
