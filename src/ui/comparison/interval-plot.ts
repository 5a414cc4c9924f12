/** A small plot of one paired difference: every seed a dot, the interval a bar, zero a line, ±0.02 a band. */
import { svg } from 'lit';

const WIDTH = 300;
const HEIGHT = 46;
const SIDE = 10;
const DOTS = 12;
const BAR = 24;
const AXIS = 33;

export interface IntervalPlot {
  readonly differences: readonly number[];
  readonly mean: number;
  readonly low: number | null;
  readonly high: number | null;
  /** Differences smaller than this count as none; null where no such bound was set. */
  readonly equivalence: number | null;
  /** The axis goes from −extent to +extent, the same for all plots of a kind. */
  readonly extent: number;
  /** A tick of the axis as text. */
  readonly text: (value: number) => string;
  readonly words: string;
}

/** The smallest number with one digit, or one and a half, that holds all values. */
export function roundExtent(values: readonly number[], least: number): number {
  const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), least);
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((k) => k * power >= most * (1 - 1e-9)) ?? 10) * power;
}

/** @returns an SVG element for use inside a lit template */
export function intervalPlot({ differences, mean, low, high, equivalence, extent, text, words }: IntervalPlot) {
  const x = (value: number) => SIDE + ((value + extent) / (2 * extent)) * (WIDTH - 2 * SIDE);
  const label = (value: number, anchor: string) =>
    svg`<text x=${x(value)} y=${HEIGHT - 2} text-anchor=${anchor} font-size="11" fill="var(--ink-3)">${text(value)}</text>`;
  return svg`<svg role="img" aria-label=${words} width=${WIDTH} height=${HEIGHT} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} font-family="var(--font-ui)">
    ${
      equivalence === null
        ? null
        : svg`<rect x=${x(-equivalence)} y="2" width=${x(equivalence) - x(-equivalence)} height=${AXIS - 2} fill="var(--line)" opacity="0.7" />`
    }
    <line x1=${SIDE} x2=${WIDTH - SIDE} y1=${AXIS} y2=${AXIS} stroke="var(--line-strong)" />
    <line x1=${x(0)} x2=${x(0)} y1="0" y2=${AXIS + 3} stroke="var(--ink-2)" />
    ${differences.map(
      (value, i) =>
        // Neighbouring seeds on three levels, so that equal differences do not hide one another.
        svg`<circle cx=${x(value)} cy=${DOTS - 4 + 4 * (i % 3)} r="2.6" fill="var(--observation)" fill-opacity="0.75" />`,
    )}
    ${
      low === null || high === null
        ? null
        : svg`<line x1=${x(low)} x2=${x(high)} y1=${BAR} y2=${BAR} stroke="var(--ink)" stroke-width="2.4" />
            <line x1=${x(low)} x2=${x(low)} y1=${BAR - 4} y2=${BAR + 4} stroke="var(--ink)" stroke-width="1.6" />
            <line x1=${x(high)} x2=${x(high)} y1=${BAR - 4} y2=${BAR + 4} stroke="var(--ink)" stroke-width="1.6" />`
    }
    <rect x=${x(mean) - 3.5} y=${BAR - 3.5} width="7" height="7" transform=${`rotate(45 ${x(mean)} ${BAR})`} fill="var(--paper)" stroke="var(--ink)" stroke-width="1.8" />
    ${label(-extent, 'start')}${label(0, 'middle')}${label(extent, 'end')}
  </svg>`;
}
