/** Decoding of small models by one kernel, one lane per job. See shaders/decode-fused.wgsl. */
import type { GpuContext } from '../../gpu/device';
import type { Kernel } from '../../gpu/kernel';
import { Recorder, readBack, slice4, whole } from '../../gpu/kernel';
import {
  compileDecodeFused,
  type DecodeFusedPlan,
  type DecodeFusedSlices,
  encodeDecodeFused,
  FUSED_REGION_LIMIT,
  FUSED_WIDTH,
  FUSED_WORKGROUP,
} from '../../gpu/kernels/decode-fused';
import type { SubgroupShape } from '../../gpu/kernels/subgroup';
import type { DecodeJob, DecodeOptions, DecodeResult } from '../engine';
import { blockParameter, LAYER_NORM_EPSILON, type ModelShape, parameterLayout } from '../parameters';
import { LaneMemory, packLanes, unpackLane } from './decode-lanes';
import type { DecodePath } from './decode-path';

/** Floats of a lane's private arrays: WGSL allows 8,192 bytes of private variables. */
const MAX_PRIVATE_FLOATS = 1920;

/** Whether the fused kernel suits a shape: each region of weights fits a uniform binding, and a lane holds little. */
export function fusedFits(shape: ModelShape): boolean {
  const { dModel: d, mlp, vocabulary } = shape;
  const floats = d + Math.max(d, mlp) + Math.max(3 * d, mlp, vocabulary);
  if ([d, mlp, vocabulary].some((width) => width % FUSED_WIDTH !== 0)) return false;
  const { plan } = fusedPlan(shape);
  const regions = [plan.attention, plan.mlp, plan.head];
  return d <= 64 && floats <= MAX_PRIVATE_FLOATS && regions.every((region) => region.size <= FUSED_REGION_LIMIT);
}

/** A contiguous part of the flat parameters, in floats. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** Where the regions of the fused kernel lie in the flat parameters, and their inner offsets. */
export function fusedPlan(shape: ModelShape): {
  plan: DecodeFusedPlan;
  embeddings: Span;
  attention: Span[];
  mlp: Span[];
  head: Span;
} {
  const layout = parameterLayout(shape);
  const at = (name: string) => layout.byName.get(name)!.offset;
  const attention: Span[] = [];
  const mlp: Span[] = [];
  for (let l = 0; l < shape.layers; l++) {
    const middle = at(blockParameter(l, 'ln_2.weight'));
    const end = l + 1 < shape.layers ? at(blockParameter(l + 1, 'ln_1.weight')) : at('ln_f.weight');
    attention.push({ from: at(blockParameter(l, 'ln_1.weight')), to: middle });
    mlp.push({ from: middle, to: end });
  }
  const head = { from: at('ln_f.weight'), to: layout.total };
  const inAttention = (name: 'attn.qkv.weight' | 'attn.qkv.bias' | 'attn.proj.weight' | 'attn.proj.bias') =>
    (at(blockParameter(0, name)) - attention[0]!.from) / 16;
  const inMlp = (name: 'mlp.fc.weight' | 'mlp.fc.bias' | 'mlp.proj.weight' | 'mlp.proj.bias') =>
    (at(blockParameter(0, name)) - mlp[0]!.from) / 16;
  const inHead = (name: string) => (at(name) - head.from) / 16;
  const region = (spans: readonly Span[]) => {
    const stride = (spans[0]!.to - spans[0]!.from) / 16;
    return { stride, size: stride * spans.length };
  };
  const plan: DecodeFusedPlan = {
    d4: shape.dModel / 4,
    f4: shape.mlp / 4,
    v4: shape.vocabulary / 4,
    layers: shape.layers,
    heads: shape.heads,
    epsilon: LAYER_NORM_EPSILON,
    embeddings: { wtePrevious: shape.previousToken ? at('wte_prev') / 4 : undefined, wpe: at('wpe') / 4 },
    layerNormBias: inHead('ln_f.bias'),
    attention: {
      ...region(attention),
      qkvWeight: inAttention('attn.qkv.weight'),
      qkvBias: inAttention('attn.qkv.bias'),
      projWeight: inAttention('attn.proj.weight'),
      projBias: inAttention('attn.proj.bias'),
    },
    mlp: {
      ...region(mlp),
      fcWeight: inMlp('mlp.fc.weight'),
      fcBias: inMlp('mlp.fc.bias'),
      projWeight: inMlp('mlp.proj.weight'),
      projBias: inMlp('mlp.proj.bias'),
    },
    head: {
      ...region([head]),
      lmWeight: inHead('lm_head.weight'),
      lmBias: inHead('lm_head.bias'),
      valueWeight: inHead('value_head.weight'),
      valueBias: inHead('value_head.bias'),
    },
  };
  return { plan, embeddings: { from: 0, to: attention[0]!.from }, attention, mlp, head };
}

/** The fused decode path. */
export class FusedDecode implements DecodePath {
  private readonly memory: LaneMemory;

  private constructor(
    private readonly context: GpuContext,
    shape: ModelShape,
    private readonly regions: ReturnType<typeof fusedPlan>,
    private readonly kernel: Kernel,
    private readonly submitMacs: number,
  ) {
    this.memory = new LaneMemory(context, shape, 'decode-fused');
  }

  /** @param subgroup given: the lanes of a subgroup hand weights round */
  static async create(
    context: GpuContext,
    shape: ModelShape,
    subgroup: SubgroupShape | undefined,
    submitMacs: number,
  ): Promise<FusedDecode> {
    const regions = fusedPlan(shape);
    const kernel = await compileDecodeFused(context, regions.plan, subgroup);
    return new FusedDecode(context, shape, regions, kernel, submitMacs);
  }

  get bytes(): number {
    return this.memory.buffers.bytes;
  }

  open(slots: number, positions: number): void {
    this.memory.open(slots, positions);
  }

  async run(parameters: GPUBuffer, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    // Jobs of like feed length share a workgroup, so that few lanes idle. Lane order does not touch results.
    const order = jobs.map((_, i) => i).sort((a, b) => jobs[b]!.feed.length - jobs[a]!.feed.length || a - b);
    const lanes = order.map((i) => jobs[i]!);
    const words = packLanes(lanes, FUSED_WORKGROUP);
    const maxCap = lanes.reduce((n, job) => Math.max(n, job.cap), 0);
    const outStride = 1 + maxCap;
    const slices = this.bind(parameters, words, lanes.length * outStride * 16);

    const steps = lanes[0]!.feed.length + maxCap - 1;
    const perSubmit = this.memory.stepsPerSubmit(lanes.length, this.submitMacs);
    for (let begin = 0; begin < steps; begin += perSubmit) {
      const recorder = new Recorder(this.context, 'decode-fused');
      if (begin === 0) this.copyWeights(recorder, parameters, slices);
      encodeDecodeFused(recorder, this.kernel, this.regions.plan, slices, {
        jobs: lanes.length,
        begin,
        end: Math.min(steps, begin + perSubmit),
        slots: this.memory.slots,
        positions: this.memory.positions,
        outStride,
        key: options.key,
      });
      recorder.submit();
    }
    const [bytes] = await readBack(this.context, [slices.out]);
    const results = new Array<DecodeResult>(jobs.length);
    order.forEach((job, lane) => {
      results[job] = unpackLane(bytes!, lane * outStride);
    });
    return results;
  }

  dispose(): void {
    this.memory.buffers.dispose();
  }

  private bind(parameters: GPUBuffer, words: Uint32Array, outBytes: number): DecodeFusedSlices {
    const { plan, embeddings } = this.regions;
    const weights = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
    return {
      embeddings: slice4(parameters, 0, embeddings.to),
      attention: whole(this.memory.buffers.ensure('attention', plan.attention.size * 64, weights)),
      mlp: whole(this.memory.buffers.ensure('mlp', plan.mlp.size * 64, weights)),
      head: whole(this.memory.buffers.ensure('head', plan.head.size * 64, weights)),
      ...this.memory.bind(words, outBytes),
    };
  }

  /** Gathers each region of the weights into one buffer that can be bound as uniform. Copied on every call: nobody
   *  tells the decoder when an update has changed them, and they are 192 KiB at most. */
  private copyWeights(recorder: Recorder, parameters: GPUBuffer, to: DecodeFusedSlices): void {
    const copy = (spans: readonly Span[], buffer: GPUBuffer) => {
      let offset = 0;
      for (const span of spans) {
        const size = (span.to - span.from) * 4;
        recorder.copy({ buffer: parameters, offset: span.from * 4, size }, { buffer, offset, size });
        offset += size;
      }
    };
    copy(this.regions.attention, to.attention.buffer);
    copy(this.regions.mlp, to.mlp.buffer);
    copy([this.regions.head], to.head.buffer);
  }
}
