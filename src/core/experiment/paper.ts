/**
 * What the paper reports, to be shown beside our own numbers: Pass@1 in %, mean of two evaluation runs, on 200 random tasks
 * of SWE-bench Verified and all of Terminal-Bench 2.0. Source: arXiv 2607.05378v1, Tables 2–4.
 */
/** One block of columns: a benchmark, with how far a cell may be off by the sampling of tasks alone. */
export interface PaperBenchmark {
  readonly id: 'swe' | 'tb2';
  readonly title: string;
  /** Sampling error of one cell in percentage points, before seeds: between these two. */
  readonly errorPoints: readonly [number, number];
}

export const paperBenchmarks: readonly PaperBenchmark[] = [
  { id: 'swe', title: 'SWE-bench Verified', errorPoints: [2.5, 3.5] },
  { id: 'tb2', title: 'Terminal-Bench 2.0', errorPoints: [3, 4] },
];

export interface PaperRow {
  readonly arm: string;
  /** Pass@1 in %, in the order of `evalModes`; null where the paper has none. */
  readonly swe: readonly (number | null)[];
  readonly tb2: readonly (number | null)[];
}

export interface PaperTable {
  readonly model: string;
  /** Tokens, as the paper writes them. */
  readonly window: string;
  readonly rows: readonly PaperRow[];
}

const row = (arm: string, swe: readonly (number | null)[], tb2: readonly (number | null)[]): PaperRow => ({
  arm,
  swe,
  tb2,
});

export const paperTables: readonly PaperTable[] = [
  {
    model: 'GLM-4.7-Flash, 30B',
    window: '64k',
    rows: [
      row('base', [47.5, 50.5, 53.5], [14.6, 13.4, 16.9]),
      row('RL without compaction, 64k', [50.0, 48.0, 48.5], [16.9, 12.4, 12.4]),
      row('RL without compaction, 128k', [48.3, 52.5, 59.0], [11.8, 23.6, 14.6]),
      row('summary loss masked', [52.5, 54.5, 50.2], [9.0, 12.4, 11.2]),
      row('CompactionRL', [43.7, 56.0, 49.0], [16.9, 20.2, 16.9]),
    ],
  },
  {
    model: 'GLM-4.5-Air, 106B',
    window: '80k',
    rows: [
      row('base (after SFT)', [57.8, 59.8, 59.5], [17.9, 21.4, 20.8]),
      row('RL without compaction, 80k', [58.3, 62.5, 61.8], [20.2, 23.6, 21.1]),
      row('RL without compaction, 160k', [63.0, 64.5, 64.0], [20.8, 23.0, 23.6]),
      row('summary loss masked', [54.5, 64.5, 61.6], [17.6, 21.5, 20.2]),
      row('CompactionRL', [57.3, 66.8, 62.1], [21.4, 24.5, 22.5]),
      row('without token-level loss', [null, 60.0, null], [null, 21.3, null]),
      row('without cross-trajectory GAE', [null, 63.0, null], [null, 22.5, null]),
    ],
  },
];
