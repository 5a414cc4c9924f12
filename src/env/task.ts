/**
 * What a task is. A family is one file in tasks/: a seeded generator, a verifier on the final file system, and a tracker,
 * which is both the scripted expert and the bookkeeping of the metric factRecall.
 */
import type { RandomStream } from '../core/rng';

export type Suite = 'terminal' | 'code';

/** What a family generates. Everything is plain JSON: instances cross worker boundaries and are stored. */
export interface TaskDraft {
  /** What the policy is told. */
  readonly instruction: string;
  /** Initial files: name relative to the working directory → content. */
  readonly files: Readonly<Record<string, string>>;
  /** The commands that exist besides the shell's builtins. Anything else is `command not found`. */
  readonly commands: readonly string[];
  /** Turns an expert with perfect memory needs, the last one included. */
  readonly minTurns: number;
  /** The solution, as the verifier and the tracker need it. */
  readonly data: unknown;
}

export interface TaskInstance extends TaskDraft {
  readonly family: string;
  readonly seed: number;
  readonly split: Split;
  /** Number of the task within its split. */
  readonly index: number;
  readonly difficulty: number;
}

/** Train and held-out tasks never share an instance. */
export type Split = 'train' | 'eval';

/** A shell as a verifier sees it. */
export interface VerifierShell {
  /** Content of a file (relative to the working directory), undefined where there is none. */
  read(path: string): Promise<string | undefined>;
  write(path: string, content: string): Promise<void>;
  /** Names in the working directory, sorted. */
  list(): Promise<string[]>;
  run(command: string): Promise<{ output: string; exitCode: number }>;
}

export interface TrackerOptions {
  /** Whether the instruction is shown again after a compaction; false: the summary has to carry it. */
  readonly keepTask: boolean;
}

/**
 * What an agent knows, given what it has seen since the last compaction and the last summary. Only true facts count: a
 * wrong value is not knowledge. Deterministic.
 */
export interface TaskTracker {
  /**
   * Learns from a real observation.
   * @param output what the agent saw (cut observations included)
   */
  observe(command: string, output: string): void;
  /** Facts known and still needed, as short texts such as `code ruby`. The order is fixed; a summary may use any. */
  facts(): string[];
  /** After a compaction: forgets every fact that the summary does not restate. */
  resume(summary: string): void;
  /** The expert's next command given what it knows. A lost pointer forces a restart, a lost value a second reading. */
  next(): string;
  /** A last answer that fills what is not known with random values: what guessing can reach. */
  guess(random: RandomStream): string;
}

export interface TaskFamily {
  readonly name: string;
  readonly suite: Suite;
  /** One or two sentences for documentation. */
  readonly summary: string;
  readonly minDifficulty: number;
  readonly maxDifficulty: number;
  /** @param difficulty integer within the family's range; it sets the horizon */
  generate(random: RandomStream, difficulty: number): TaskDraft;
  /** 1 when solved, else the solved share, below 1. */
  verify(instance: TaskInstance, shell: VerifierShell): Promise<number>;
  tracker(instance: TaskInstance, options: TrackerOptions): TaskTracker;
  /** A syntactically plausible command with random words, for the chance floor. */
  randomCommand(instance: TaskInstance, random: RandomStream): string;
}
