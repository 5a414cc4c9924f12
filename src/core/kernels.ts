/** Which kernels a run computes with, and how they were chosen: plain data that run headers, caches and the page share. */
import * as v from 'valibot';
import { LabError } from './errors';
import { faultOf, faultOfArray } from './schema-fault';

/**
 * Everything about the kernels that results may depend on in their last bits. Stored with a run; the same plan on the same
 * adapter gives the same bits.
 */
export interface KernelPlan {
  /** Variant by kernel; which there are: src/model/webgpu/kernel-choices.ts. */
  readonly choices: Readonly<Record<string, string>>;
  /** Most tokens of a micro-batch. */
  readonly microBatchTokens: number;
  /** Most multiply-adds of one submit of decoding; results do not depend on it. */
  readonly submitMacs: number;
}

/**
 * Why a variant was not measured to the end. `hopeless`: its first run was far slower than the best. `failed`: the driver
 * refused it. `software`: known to be slow on software adapters, so not even compiled. `out-of-time`: compiling the others
 * took too long. `differs`: its results are not those of the plain variant.
 */
const trialSkips = ['hopeless', 'failed', 'software', 'out-of-time', 'differs'] as const;
export type TrialSkip = (typeof trialSkips)[number];

/** One variant of one kernel in a measured choice. */
export interface KernelTrial {
  readonly kernel: string;
  readonly variant: string;
  readonly chosen: boolean;
  /** Best time of one run of the measured work, ms; null when it never ran. Comparable within a kernel only. */
  readonly ms: number | null;
  /** Time to compile it, ms; null when that was not done or failed. */
  readonly compileMs: number | null;
  readonly skipped: TrialSkip | null;
}

/** A measured choice for one model on one adapter. */
export interface KernelReport {
  /** The model, as `ModelShape`. */
  readonly shape: {
    readonly vocabulary: number;
    readonly dModel: number;
    readonly layers: number;
    readonly heads: number;
    readonly mlp: number;
    readonly positions: number;
    readonly previousToken: boolean;
  };
  readonly plan: KernelPlan;
  readonly trials: readonly KernelTrial[];
  /** Time spent measuring; compiling comes on top. */
  readonly measureMs: number;
  /** ISO 8601. */
  readonly measuredAt: string;
}

const name = v.pipe(v.string(), v.regex(/^[a-z-]{1,40}$/, 'a name of at most 40 small letters and hyphens'));
const upTo = (most: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(most));
const time = v.pipe(v.number(), v.finite(), v.minValue(0));

/** A plan inside a larger file. */
export const kernelPlanSchema = v.strictObject({
  choices: v.record(name, name),
  microBatchTokens: upTo(2 ** 20),
  // The most that the autotune ever allows (bounds.ts): a plan from elsewhere must not ask for one endless submit.
  submitMacs: upTo(2 ** 33),
});

const shapeSchema = v.strictObject({
  vocabulary: upTo(2 ** 20),
  dModel: upTo(2 ** 20),
  layers: upTo(2 ** 20),
  heads: upTo(2 ** 20),
  mlp: upTo(2 ** 20),
  positions: upTo(2 ** 20),
  previousToken: v.boolean(),
});

const reportSchema = v.strictObject({
  shape: shapeSchema,
  plan: kernelPlanSchema,
  trials: v.pipe(
    v.array(
      v.strictObject({
        kernel: name,
        variant: name,
        chosen: v.boolean(),
        ms: v.nullable(time),
        compileMs: v.nullable(time),
        skipped: v.nullable(v.picklist(trialSkips)),
      }),
    ),
    v.maxLength(100),
  ),
  measureMs: time,
  measuredAt: v.pipe(v.string(), v.isoTimestamp()),
});

function parse<T>(schema: v.GenericSchema<unknown, T>, raw: unknown, what: string, where: string): T {
  const result = v.safeParse(schema, raw);
  const array = faultOfArray(raw);
  if (result.success && !array) return result.output;
  const { path, expected, got } = array ?? faultOf(result.issues![0]);
  throw new LabError({ code: 'kernels.bad', what, where: path ? `${where}, ${path}` : where, expected, got });
}

/** A plan from a file or a database. @param where for the error @throws `kernels.bad` */
export function parseKernelPlan(raw: unknown, where: string): KernelPlan {
  return parse(kernelPlanSchema, raw, 'The stored choice of kernels is damaged', where);
}

/** A part of a plan, as a user writes it; what is left out keeps its default. @throws `kernels.bad` */
export function parsePartialPlan(raw: unknown, where: string): Partial<KernelPlan> {
  const { microBatchTokens, submitMacs, choices } = parse(
    v.partial(kernelPlanSchema),
    raw,
    'Bad choice of kernels',
    where,
  );
  return {
    ...(choices && { choices }),
    ...(microBatchTokens !== undefined && { microBatchTokens }),
    ...(submitMacs !== undefined && { submitMacs }),
  };
}

/** A model to measure. @throws `kernels.bad` */
export function parseKernelShape(raw: unknown): KernelReport['shape'] {
  return parse(shapeSchema, raw, 'This is no model', 'model');
}

/** A measured choice from a file or a database. @throws `kernels.bad` */
export function parseKernelReport(raw: unknown, where: string): KernelReport {
  return parse(reportSchema, raw, 'The stored measurement of kernels is damaged', where);
}

/** Whether two plans give the same bits. */
export function sameKernels(a: KernelPlan | undefined, b: KernelPlan | undefined): boolean {
  const names = Object.keys({ ...a?.choices, ...b?.choices });
  return a?.microBatchTokens === b?.microBatchTokens && names.every((name) => a?.choices[name] === b?.choices[name]);
}
