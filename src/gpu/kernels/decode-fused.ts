/**
 * Binds shaders/decode-fused.wgsl: whole decoding of small models, one lane per job. Private arrays and uniform arrays
 * need constant sizes, so the constants are written into the text; trip counts stay in the params.
 */
import decodeFused from '../../../shaders/decode-fused.wgsl?raw';
import laneProducts from '../../../shaders/decode-fused-lane.wgsl?raw';
import subgroupProducts from '../../../shaders/decode-fused-subgroup.wgsl?raw';
import threefry from '../../../shaders/threefry.wgsl?raw';
import type { GpuContext } from '../device';
import { compileKernel, f32, type GpuSlice, type Kernel, type Recorder } from '../kernel';
import { type SubgroupShape, withSubgroup } from './subgroup';

/** Sizes and offsets of one model. Offsets and sizes of the weight regions count 16 floats (64 bytes), those of the
 *  embeddings 4 floats. */
export interface DecodeFusedPlan {
  /** Widths divided by 4. */
  readonly d4: number;
  readonly f4: number;
  readonly v4: number;
  readonly layers: number;
  readonly heads: number;
  readonly epsilon: number;
  readonly embeddings: { readonly wtePrevious: number | undefined; readonly wpe: number };
  /** `stride`: of one layer; `size`: of all layers. */
  readonly attention: Region & Offsets<'qkvWeight' | 'qkvBias' | 'projWeight' | 'projBias'>;
  readonly mlp: Region & Offsets<'fcWeight' | 'fcBias' | 'projWeight' | 'projBias'>;
  readonly head: Region & Offsets<'lmWeight' | 'lmBias' | 'valueWeight' | 'valueBias'>;
  /** Offset of a layer norm's bias after its weight; the same in all regions. */
  readonly layerNormBias: number;
}
interface Region {
  readonly stride: number;
  readonly size: number;
}
type Offsets<K extends string> = Readonly<Record<K, number>>;

/** Words of one job record. */
export const FUSED_JOB_WORDS = 12;

/** All widths must be multiples of this: a read of weights takes so many floats. */
export const FUSED_WIDTH = 16;

/** Lanes of a workgroup: the SIMD width of software adapters, so that few jobs still reach every core. */
export const FUSED_WORKGROUP = 8;

/**
 * Most elements of 16 floats in a region of weights. Weights are read through uniform buffers, whose bindings end at 64 KiB: through
 * storage buffers the kernel ran 2 to 4 times slower on a (busy) software adapter, and its first dispatch took about
 * 6 times longer.
 */
export const FUSED_REGION_LIMIT = 1024;

/** The WGSL text of a plan. @param subgroup given: its lanes hand weights round */
function decodeFusedSource(plan: DecodeFusedPlan, subgroup: SubgroupShape | undefined): string {
  const { d4, f4, v4, attention, mlp, head } = plan;
  const unsigned: Record<string, number> = {
    WORKGROUP: FUSED_WORKGROUP,
    D4: d4,
    H: 4 * Math.max(d4, f4),
    Y4: Math.max(3 * d4, f4, v4),
    HEAD_D4: d4 / plan.heads,
    WTE_PREVIOUS: plan.embeddings.wtePrevious ?? 0,
    WPE: plan.embeddings.wpe,
    LN_BIAS: plan.layerNormBias,
    ATTENTION_SIZE: attention.size,
    ATTENTION_STRIDE: attention.stride,
    QKV_WEIGHT: attention.qkvWeight,
    QKV_BIAS: attention.qkvBias,
    PROJ_WEIGHT: attention.projWeight,
    PROJ_BIAS: attention.projBias,
    MLP_SIZE: mlp.size,
    MLP_STRIDE: mlp.stride,
    FC_WEIGHT: mlp.fcWeight,
    FC_BIAS: mlp.fcBias,
    MLP_PROJ_WEIGHT: mlp.projWeight,
    MLP_PROJ_BIAS: mlp.projBias,
    HEAD_SIZE: head.size,
    LM_WEIGHT: head.lmWeight,
    LM_BIAS: head.lmBias,
    VALUE_WEIGHT: head.valueWeight,
    VALUE_BIAS: head.valueBias,
  };
  const constants = Object.entries(unsigned).map(([name, value]) => `const ${name} = ${value}u;`);
  constants.push(`const HAS_PREVIOUS = ${plan.embeddings.wtePrevious !== undefined};`);
  const text = [...constants, threefry, subgroup ? subgroupProducts : laneProducts, decodeFused].join('\n');
  return subgroup ? withSubgroup(text, subgroup) : text;
}

/** Compiles the kernel of a plan. @param subgroup given: its lanes hand weights round */
export function compileDecodeFused(
  context: GpuContext,
  plan: DecodeFusedPlan,
  subgroup: SubgroupShape | undefined,
): Promise<Kernel> {
  return compileKernel(context, {
    name: subgroup ? 'decode-fused-subgroup' : 'decode-fused-lane',
    code: decodeFusedSource(plan, subgroup),
    bindings: ['read', 'uniform', 'uniform', 'uniform', 'write', 'read', 'write', 'params'],
  });
}

/** Buffers of one dispatch; shapes as in the shader's header. */
export interface DecodeFusedSlices {
  readonly embeddings: GpuSlice;
  readonly attention: GpuSlice;
  readonly mlp: GpuSlice;
  readonly head: GpuSlice;
  readonly cache: GpuSlice;
  readonly jobs: GpuSlice;
  readonly out: GpuSlice;
}

/** Records steps `begin` ≤ step < `end` of all jobs. */
export function encodeDecodeFused(
  recorder: Recorder,
  kernel: Kernel,
  plan: DecodeFusedPlan,
  slices: DecodeFusedSlices,
  sizes: {
    readonly jobs: number;
    readonly begin: number;
    readonly end: number;
    readonly slots: number;
    readonly positions: number;
    readonly outStride: number;
    readonly key: readonly [number, number];
  },
): void {
  const { d4, f4, v4, layers, heads, epsilon } = plan;
  const scale = 1 / Math.sqrt((4 * d4) / heads);
  recorder.dispatch(
    kernel,
    [slices.embeddings, slices.attention, slices.mlp, slices.head, slices.cache, slices.jobs, slices.out],
    [
      sizes.jobs,
      sizes.begin,
      sizes.end,
      sizes.slots,
      sizes.positions,
      sizes.outStride,
      sizes.key[0],
      sizes.key[1],
      layers,
      heads,
      d4,
      f4,
      v4,
      f32(epsilon),
      f32(scale),
    ],
    [Math.ceil(sizes.jobs / FUSED_WORKGROUP)],
  );
}
