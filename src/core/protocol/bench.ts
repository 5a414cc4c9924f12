/** What the page measures of a graphics adapter, and how it says so. Plain structured-cloneable data. */
import * as v from 'valibot';
import { LabError, type LabErrorParts } from '../errors';

/** Middle and ends of repeated measurements. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** Number of measurements. */
  readonly samples: number;
}

/** `quick`: the model of the learning presets. `d128`: large enough that matrix products dominate. */
export const benchModels = ['quick', 'd128'] as const;
export type BenchModel = (typeof benchModels)[number];

/** Engines that are compared; the first is what the others are checked against. */
export const peerNames = ['ours', 'tfjs', 'jax'] as const;
export type PeerName = (typeof peerNames)[number];
export type Peers<T> = Partial<Record<PeerName, T>>;

/** Tasks of the comparison; the number is that of environments. */
export const peerTasks = ['update', 'decode64', 'decode256'] as const;
export type PeerTask = (typeof peerTasks)[number];

const requestSchema = v.strictObject({
  models: v.pipe(v.array(v.picklist(benchModels)), v.minLength(1), v.maxLength(benchModels.length)),
});
export type BenchRequest = Readonly<v.InferOutput<typeof requestSchema>>;

/** @throws LabError `bench.request` */
export function parseBenchRequest(raw: unknown): BenchRequest {
  const result = v.safeParse(requestSchema, raw);
  if (result.success) return result.output;
  const [issue] = result.issues;
  throw new LabError({
    code: 'bench.request',
    what: 'This cannot be measured',
    where: v.getDotPath(issue) ?? 'request',
    expected: issue.expected,
    got: issue.received.slice(0, 80),
  });
}

/** One task of one model. */
export interface BenchRow {
  readonly model: BenchModel;
  readonly task: PeerTask;
  /** Tokens of one measurement: of the batch, or fed and sampled in one window of all environments. */
  readonly tokens: number;
  /** Engines that could not be measured are left out. */
  readonly tokensPerSecond: Peers<Spread>;
}

/** The fastest matrix product of the sweep. */
export interface BenchProduct {
  readonly product: string;
  readonly variant: string;
  readonly rows: number;
  readonly inputs: number;
  readonly outputs: number;
  readonly gflops: Spread;
}

export interface BenchReport {
  readonly adapter: string;
  readonly build: string;
  /** As the browser names itself. */
  readonly browser: string;
  /** When it began, ISO 8601. */
  readonly date: string;
  /** Null until it is measured. */
  readonly product: BenchProduct | null;
  readonly rows: readonly BenchRow[];
  /** What could not be measured, and why. */
  readonly problems: readonly LabErrorParts[];
  /** False while it is measured, and when it was stopped early. */
  readonly complete: boolean;
}

export interface BenchProgress {
  /** What is measured so far. */
  readonly report: BenchReport;
  /** What is going on now. */
  readonly note: string;
  /** Share of the work that is done, 0–1, by what it is expected to take. */
  readonly share: number;
  /** Estimated time left, ms; null until there is something to go by. */
  readonly remainingMs: number | null;
}
