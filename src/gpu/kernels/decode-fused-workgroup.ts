/** Binds shaders/decode-fused-workgroup.wgsl: whole decoding, one workgroup per job. */
import code from '../../../shaders/decode-fused-workgroup.wgsl?raw';
import attention from '../../../shaders/decode-fused-workgroup-attention.wgsl?raw';
import threefry from '../../../shaders/threefry.wgsl?raw';
import type { GpuContext } from '../device';
import { compileKernel, f32, type GpuSlice, type Kernel, type Recorder } from '../kernel';
import { groupGrid } from './grid';

/** Widths of one model, and where its tensors lie in the flat parameters: floats, all multiples of 4. */
export interface DecodeWorkgroupModel {
  readonly dModel: number;
  readonly mlp: number;
  readonly vocabulary: number;
  readonly layers: number;
  readonly heads: number;
  /** Most positions of a cache slot. */
  readonly positions: number;
  readonly epsilon: number;
  readonly wtePrevious: number | undefined;
  readonly wpe: number;
  /** Where block 0 begins, and how far it is from a block to the next. Blocks begin with ln_1.weight. */
  readonly blocks: { readonly first: number; readonly stride: number };
  /** Start of a tensor from the start of its block. */
  readonly inBlock: (tensor: `${BlockLayer}.${'weight' | 'bias'}`) => number;
  /** Start of a tensor after the blocks. */
  readonly at: (tensor: `${'ln_f' | 'lm_head' | 'value_head'}.${'weight' | 'bias'}`) => number;
}
type BlockLayer = 'ln_1' | 'ln_2' | 'attn.qkv' | 'attn.proj' | 'mlp.fc' | 'mlp.proj';

/** Workgroup memory that every WebGPU device has, in bytes. */
const WORKGROUP_BYTES = 16_384;

/** Most positions whose attention scores are held at a time: a longer tile saves few barriers and costs occupancy. */
const MAX_TILE = 128;

/** Fewest: below, the barriers of a tile outweigh its work. */
const MIN_TILE = 16;

/** Sizes that follow from a model's widths. */
interface WorkgroupSizes {
  readonly lanes: number;
  /** Positions of a tile of attention scores. */
  readonly tile: number;
  readonly constants: Readonly<Record<string, number>>;
}

/** Undefined where the activations do not fit into workgroup memory. */
export function workgroupSizes(
  model: Pick<DecodeWorkgroupModel, 'dModel' | 'mlp' | 'vocabulary' | 'heads' | 'positions'>,
): WorkgroupSizes | undefined {
  const { dModel, mlp, vocabulary, heads, positions } = model;
  // Four outputs a lane: a wide model keeps 256 lanes at work, a narrow one would leave most of them at barriers.
  const lanes = dModel <= 64 ? 64 : 256;
  const H4 = Math.max(dModel, mlp) / 4;
  const Y4 = Math.max(3 * dModel, mlp, vocabulary) / 4;
  // x, h, y, partials; maxima and sums; head_factors; job_state and chosen, each rounded up to 16 bytes.
  const others = 16 * (dModel / 4 + H4 + Y4 + lanes) + 8 * lanes + 4 * Math.ceil(heads / 4) * 4 + 32;
  const tile = Math.min(positions, MAX_TILE, Math.floor((WORKGROUP_BYTES - others) / (4 * heads)));
  if (dModel / 4 > lanes || tile < Math.min(positions, MIN_TILE)) return undefined;
  return {
    lanes,
    tile,
    constants: { LANES: lanes, D4: dModel / 4, H4, Y4, HEADS: heads, SCORES: heads * tile },
  };
}

/** Compiles the kernel of a model's widths. */
export function compileDecodeWorkgroup(context: GpuContext, sizes: WorkgroupSizes): Promise<Kernel> {
  return compileKernel(context, {
    name: 'decode-fused-workgroup',
    code: `${threefry}\n${code}\n${attention}`,
    bindings: ['read', 'write', 'read', 'write', 'params'],
    constants: sizes.constants,
  });
}

/** Records steps `begin` ≤ step < `end` of all jobs; a step feeds one token. */
export function encodeDecodeWorkgroup(
  recorder: Recorder,
  kernel: Kernel,
  model: DecodeWorkgroupModel,
  slices: {
    /** The flat parameters. */
    readonly parameters: GpuSlice;
    /** [layers, slots, 2, positions · dModel], kept between calls. */
    readonly cache: GpuSlice;
    /** Job records and fed tokens; see the shader. */
    readonly jobs: GpuSlice;
    /** [jobs, outStride] vec4u, in and out. */
    readonly out: GpuSlice;
  },
  sizes: {
    readonly jobs: number;
    readonly begin: number;
    readonly end: number;
    readonly slots: number;
    readonly positions: number;
    readonly outStride: number;
    readonly key: readonly [number, number];
    readonly tile: number;
  },
): void {
  const { dModel, heads, blocks, inBlock, at } = model;
  const [d4, f4, v4] = [dModel / 4, model.mlp / 4, model.vocabulary / 4];
  const { workgroups, gridWidth } = groupGrid(sizes.jobs);
  recorder.dispatch(
    kernel,
    [slices.parameters, slices.cache, slices.jobs, slices.out],
    [
      sizes.jobs,
      sizes.begin,
      sizes.end,
      sizes.slots,
      sizes.positions,
      sizes.outStride,
      sizes.key[0],
      sizes.key[1],
      gridWidth,
      model.layers,
      heads,
      d4,
      f4,
      v4,
      sizes.tile,
      f32(model.epsilon),
      f32(1 / Math.sqrt(dModel / heads)),
      model.wtePrevious === undefined ? 0 : 1,
      (model.wtePrevious ?? 0) / 4,
      model.wpe / 4,
      blocks.first / 4,
      blocks.stride / 4,
      at('value_head.weight') / 4,
      at('value_head.bias') / 4,
      ...[inBlock('ln_1.weight') / 4, inBlock('ln_1.bias') / 4, 0, 0],
      ...[inBlock('ln_2.weight') / 4, inBlock('ln_2.bias') / 4, 0, 0],
      ...[at('ln_f.weight') / 4, at('ln_f.bias') / 4, 0, 0],
      ...[inBlock('attn.qkv.weight') / 4, inBlock('attn.qkv.bias') / 4, d4, 3 * d4],
      ...[inBlock('attn.proj.weight') / 4, inBlock('attn.proj.bias') / 4, d4, d4],
      ...[inBlock('mlp.fc.weight') / 4, inBlock('mlp.fc.bias') / 4, d4, f4],
      ...[inBlock('mlp.proj.weight') / 4, inBlock('mlp.proj.bias') / 4, f4, d4],
      ...[at('lm_head.weight') / 4, at('lm_head.bias') / 4, d4, v4],
    ],
    workgroups,
  );
}
