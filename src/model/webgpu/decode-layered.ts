/**
 * Decoding by the kernels of the forward pass: any model size. The same kernels run over a flat list of rows (slot,
 * position, token): all fed tokens in the prefill, then one row per job and sampling step. Several sampling steps go
 * into one submit; jobs that are done are dropped between submits.
 */
import type { GpuContext } from '../../gpu/device';
import { compileKernel, type GpuSlice, Recorder, readBack, whole } from '../../gpu/kernel';
import { decodeAttention, encodeDecodeAttention } from '../../gpu/kernels/decode-attention';
import { decodeCache, encodeDecodeCache } from '../../gpu/kernels/decode-cache';
import { embedding, encodeEmbedding } from '../../gpu/kernels/embedding';
import { encodeLayerNorm, layernorm } from '../../gpu/kernels/layernorm';
import { encodeMoveRows, moveRows } from '../../gpu/kernels/move-rows';
import { encodeProduct, type ProductVariant, productVariants } from '../../gpu/kernels/products';
import { encodeSample, NO_SLOT, SAMPLE_JOB_WORDS, sample } from '../../gpu/kernels/sample';
import { encodeValueHead, valueHead } from '../../gpu/kernels/value-head';
import type { DecodeJob, DecodeOptions, DecodeResult } from '../engine';
import { blockParameter, LAYER_NORM_EPSILON, type ModelShape, parameterLayout } from '../parameters';
import { basePosition, jobWords, resultStarts, unpackSamples } from './decode-jobs';
import { BufferSet, type DecodePath, tokenMacs } from './decode-path';
import { FlatTensors } from './model-buffers';

/** Most sampling steps of one submit: enough to hide the read-back, few enough that finished jobs waste little. */
const STEPS_PER_SUBMIT = 8;

async function compile(context: GpuContext, shape: ModelShape, variant: ProductVariant) {
  const one = (descriptor: Parameters<typeof compileKernel>[1]) => compileKernel(context, descriptor);
  const [embed, norm, product, cache, attention, move, value, draw] = await Promise.all([
    one(embedding),
    one(layernorm),
    one(productVariants(context.adapter).get(variant)!.matmul),
    one(decodeCache),
    one(decodeAttention(shape.dModel / shape.heads)),
    one(moveRows),
    one(valueHead),
    one(sample),
  ]);
  return { embed, norm, product, cache, attention, move, value, draw };
}

/** One call: the parameters and all buffers, large enough for its rows. */
interface Call {
  readonly parameters: FlatTensors;
  readonly key: readonly [number, number];
  /** [fed rows] vec4u: the prefill. */
  readonly fed: GPUBuffer;
  /** [jobs] u32: row of each job's last fed token, within its chunk. */
  readonly last: GpuSlice;
  readonly jobs: GpuSlice;
  /** [jobs] vec4u: the row last fed, then the next one. */
  readonly records: GpuSlice;
  readonly results: GpuSlice;
  readonly x: GpuSlice;
  readonly h: GpuSlice;
  readonly stats: GpuSlice;
  readonly qkv: GpuSlice;
  readonly mixed: GpuSlice;
  readonly middle: GpuSlice;
  readonly hidden: GpuSlice;
  readonly packed: GpuSlice;
  readonly logits: GpuSlice;
  readonly values: GpuSlice;
}

/** The layered decode path. */
export class LayeredDecode implements DecodePath {
  private readonly buffers: BufferSet;
  private readonly layout;
  private positions = 0;

  private constructor(
    private readonly context: GpuContext,
    private readonly shape: ModelShape,
    private readonly kernels: Awaited<ReturnType<typeof compile>>,
    private readonly submitMacs: number,
  ) {
    this.buffers = new BufferSet(context, 'decode');
    this.layout = parameterLayout(shape);
  }

  static async create(
    context: GpuContext,
    shape: ModelShape,
    product: ProductVariant,
    submitMacs: number,
  ): Promise<LayeredDecode> {
    return new LayeredDecode(context, shape, await compile(context, shape, product), submitMacs);
  }

  get bytes(): number {
    return this.buffers.bytes;
  }

  open(slots: number, positions: number): void {
    this.positions = positions;
    for (let l = 0; l < this.shape.layers; l++) {
      this.buffers.release(`cache ${l}`);
      this.buffers.ensure(`cache ${l}`, slots * positions * 2 * this.shape.dModel * 4, GPUBufferUsage.STORAGE);
    }
  }

  async run(parameters: GPUBuffer, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    const macs = tokenMacs(this.shape, this.positions);
    const fedCount = jobs.reduce((n, job) => n + job.feed.length, 0);
    const chunkRows = Math.max(1, Math.min(fedCount, Math.floor(this.submitMacs / macs)));
    const starts = resultStarts(jobs);
    const call = this.prepare(parameters, options, jobs, Math.max(chunkRows, jobs.length), fedCount, starts);

    this.prefill(call, jobs, chunkRows);
    // Positions of the next row of each job, and the jobs that still sample.
    const counts = new Uint32Array(jobs.length);
    let alive = jobs.map((_, i) => i);
    for (;;) {
      const records = await this.readRecords(call, alive.length);
      alive.forEach((job, row) => {
        counts[job] = records[row * 4 + 2]! - basePosition(jobs[job]!);
      });
      const rows = alive.map((_, row) => row).filter((row) => records[row * 4 + 3] !== NO_SLOT);
      if (rows.length === 0) break;
      if (rows.length < alive.length) {
        alive = rows.map((row) => alive[row]!);
        const kept = Uint32Array.from(rows.flatMap((row) => [...records.subarray(row * 4, row * 4 + 4)]));
        this.write(call.records, kept);
        this.write(
          call.jobs,
          jobWords(
            alive.map((i) => jobs[i]!),
            alive.map((i) => starts[i]!),
          ),
        );
      }
      const left = alive.reduce((n, job) => Math.max(n, jobs[job]!.cap - counts[job]!), 0);
      const steps = Math.max(1, Math.min(STEPS_PER_SUBMIT, left, Math.floor(this.submitMacs / (macs * alive.length))));
      const recorder = new Recorder(this.context, 'decode steps');
      for (let step = 0; step < steps; step++) {
        this.body(recorder, call, call.records, alive.length);
        this.head(recorder, call, call.x, 0, alive.length);
      }
      recorder.submit();
    }
    const [bytes] = await readBack(this.context, [call.results]);
    return jobs.map((_, i) => unpackSamples(bytes!, starts[i]!, counts[i]!));
  }

  dispose(): void {
    this.buffers.dispose();
  }

  /** Feeds all jobs' tokens, chunk by chunk, and samples the first token of each job. */
  private prefill(call: Call, jobs: readonly DecodeJob[], chunkRows: number): void {
    // Ends of the jobs in the flat list of fed rows.
    const ends: number[] = [];
    for (const job of jobs) ends.push((ends[ends.length - 1] ?? 0) + job.feed.length);
    const total = ends[ends.length - 1]!;
    this.write(
      call.last,
      Uint32Array.from(ends, (end) => (end - 1) % chunkRows),
    );
    let first = 0;
    for (let at = 0; at < total; at += chunkRows) {
      const rows = Math.min(chunkRows, total - at);
      let count = 0;
      while (first + count < ends.length && ends[first + count]! <= at + rows) count++;
      const recorder = new Recorder(this.context, 'decode prefill');
      // Chunk offsets in bytes are no multiple of 256 in general, so a copy brings the chunk to the start.
      const records = whole(this.buffers.ensure('chunk', chunkRows * 16, usages.words));
      recorder.copy({ buffer: call.fed, offset: at * 16, size: rows * 16 }, records);
      this.body(recorder, call, records, rows);
      if (count > 0) {
        encodeMoveRows(
          recorder,
          this.kernels.move,
          { index: call.last, hidden: call.x, packed: call.packed },
          { first, count },
          { dModel: this.shape.dModel, direction: 'gather' },
        );
        this.head(recorder, call, call.packed, first, count);
      }
      recorder.submit();
      first += count;
    }
  }

  /** Embedding and all blocks over `rows` records; the residual stream ends in call.x. */
  private body(recorder: Recorder, call: Call, records: GpuSlice, rows: number): void {
    const { dModel, mlp, heads, layers, previousToken } = this.shape;
    const { kernels, positions } = this;
    const { parameters, x, h, stats, qkv, mixed, middle, hidden } = call;
    const norm = { rows, dModel, epsilon: LAYER_NORM_EPSILON };
    encodeEmbedding(
      recorder,
      kernels.embed,
      {
        records,
        wte: parameters.tensor('wte'),
        wtePrevious: previousToken ? parameters.tensor('wte_prev') : undefined,
        wpe: parameters.tensor('wpe'),
        x,
      },
      { rows, dModel },
    );
    for (let l = 0; l < layers; l++) {
      const weight = (name: 'ln_1' | 'ln_2' | 'attn.qkv' | 'attn.proj' | 'mlp.fc' | 'mlp.proj') => ({
        weight: parameters.tensor(blockParameter(l, `${name}.weight`)),
        bias: parameters.tensor(blockParameter(l, `${name}.bias`)),
      });
      const cache = whole(this.buffers.ensure(`cache ${l}`, 0, GPUBufferUsage.STORAGE));
      const product = (from: GpuSlice, name: Parameters<typeof weight>[0], y: GpuSlice, residual?: GpuSlice) =>
        encodeProduct(
          recorder,
          kernels.product,
          { x: from, ...weight(name), y, residual },
          {
            rows,
            inputs: name === 'mlp.proj' ? mlp : dModel,
            outputs: name === 'attn.qkv' ? 3 * dModel : name === 'mlp.fc' ? mlp : dModel,
            relu: name === 'mlp.fc',
          },
        );
      encodeLayerNorm(recorder, kernels.norm, { x, ...weight('ln_1'), y: h, stats }, norm);
      product(h, 'attn.qkv', qkv);
      encodeDecodeCache(recorder, kernels.cache, { records, qkv, cache }, { rows, dModel, positions });
      encodeDecodeAttention(
        recorder,
        kernels.attention,
        { records, qkv, cache, out: mixed },
        { rows, dModel, heads, positions },
      );
      product(mixed, 'attn.proj', middle, x);
      encodeLayerNorm(recorder, kernels.norm, { x: middle, ...weight('ln_2'), y: h, stats }, norm);
      product(h, 'mlp.fc', hidden);
      product(hidden, 'mlp.proj', x, middle);
    }
  }

  /** Heads and one draw for jobs first … first + rows, whose residual streams are the rows of `x`. */
  private head(recorder: Recorder, call: Call, x: GpuSlice, first: number, rows: number): void {
    const { dModel, vocabulary } = this.shape;
    const { kernels } = this;
    const { parameters, h, stats, logits, values } = call;
    const weight = (name: string) => ({
      weight: parameters.tensor(`${name}.weight`),
      bias: parameters.tensor(`${name}.bias`),
    });
    encodeLayerNorm(
      recorder,
      kernels.norm,
      { x, ...weight('ln_f'), y: h, stats },
      { rows, dModel, epsilon: LAYER_NORM_EPSILON },
    );
    encodeProduct(
      recorder,
      kernels.product,
      { x: h, ...weight('lm_head'), y: logits },
      { rows, inputs: dModel, outputs: vocabulary },
    );
    encodeValueHead(recorder, kernels.value, { h, ...weight('value_head'), values }, { first: 0, count: rows }, dModel);
    encodeSample(
      recorder,
      kernels.draw,
      { logits, values, jobs: call.jobs, records: call.records, results: call.results },
      { rows, first, vocabulary, key: call.key },
    );
  }

  /** Allocates and uploads everything of one call. `rows` bounds the rows of any one pass. */
  private prepare(
    parameters: GPUBuffer,
    options: DecodeOptions,
    jobs: readonly DecodeJob[],
    rows: number,
    fedCount: number,
    starts: readonly number[],
  ): Call {
    const { dModel, mlp, vocabulary } = this.shape;
    const floats = (name: string, count: number) => whole(this.buffers.ensure(name, count * 4, GPUBufferUsage.STORAGE));
    const words = (name: string, count: number) => whole(this.buffers.ensure(name, count * 4, usages.words));
    const resultCount = starts[jobs.length - 1]! + jobs[jobs.length - 1]!.cap;
    const call: Call = {
      parameters: new FlatTensors(parameters, this.layout),
      key: options.key,
      fed: words('fed', fedCount * 4).buffer,
      last: words('last', jobs.length),
      jobs: words('jobs', jobs.length * SAMPLE_JOB_WORDS),
      records: words('records', jobs.length * 4),
      results: words('results', resultCount * 4),
      x: floats('x', rows * dModel),
      h: floats('h', rows * dModel),
      stats: floats('stats', rows * 2),
      qkv: floats('qkv', rows * 3 * dModel),
      mixed: floats('mixed', rows * dModel),
      middle: floats('middle', rows * dModel),
      hidden: floats('hidden', rows * mlp),
      packed: floats('packed', jobs.length * dModel),
      logits: floats('logits', jobs.length * vocabulary),
      values: floats('values', jobs.length),
    };
    const fed = new Uint32Array(fedCount * 4);
    const records = new Uint32Array(jobs.length * 4);
    let row = 0;
    jobs.forEach((job, j) => {
      for (let i = 0; i < job.feed.length; i++, row++) {
        // parameters.ts: at position 0 the previous token counts as token 0.
        const previous = i > 0 ? job.feed[i - 1]! : job.start > 0 ? job.previous : 0;
        fed.set([job.feed[i]!, previous, job.start + i, job.slot], row * 4);
      }
      records.set(fed.subarray(row * 4 - 4, row * 4), j * 4);
    });
    this.write(whole(call.fed), fed);
    this.write(call.records, records);
    this.write(call.jobs, jobWords(jobs, starts));
    return call;
  }

  private write(to: GpuSlice, words: Uint32Array): void {
    this.context.device.queue.writeBuffer(to.buffer, to.offset, words as Uint32Array<ArrayBuffer>);
  }

  private async readRecords(call: Call, count: number): Promise<Uint32Array> {
    const [bytes] = await readBack(this.context, [{ ...call.records, size: count * 16 }]);
    return new Uint32Array(bytes!);
  }
}

/** Usages by what a buffer holds; a getter, as the WebGPU globals do not exist when Node loads this file. */
const usages = {
  get words(): GPUBufferUsageFlags {
    return GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  },
};
