/** What a benchmark is. One benchmark = one file `src/bench/benches/<name>.ts` with a default export of type `Bench`. */

/** A flag with a text value. */
export interface BenchOption {
  /** One sentence, with the default. */
  readonly help: string;
}

/** What a benchmark is run with. */
export interface BenchRun {
  /** Texts of the flags given, by name. */
  readonly options: Readonly<Record<string, string | undefined>>;
  /** Progress for people, one line on stderr. */
  readonly note: (line: string) => void;
}

/** What a benchmark measured. */
export interface BenchResult {
  /** The numbers, as JSON. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The same for people: rows of cells, the first row the heading. */
  readonly table: readonly (readonly (string | number)[])[];
  /** Lines under the table. */
  readonly remarks?: readonly string[];
  /** The graphics adapter; absent where none was used. */
  readonly adapter?: string;
}

export interface Bench {
  /** As typed; equal to the file's name. */
  readonly name: string;
  /** One sentence for `bench --help`. */
  readonly summary: string;
  /** Flags besides `--json`. */
  readonly options?: Readonly<Record<string, BenchOption>>;
  readonly run: (run: BenchRun) => Promise<BenchResult>;
}
