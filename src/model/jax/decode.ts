/**
 * Decoding in jax-js with a KV cache of fixed capacity. All jobs of a call advance together: what they feed in passes of
 * `BLOCK` positions, then one token per step. Sampling happens on the host, in float64, with the same draws as the other
 * engines; tokens agree unless a draw falls on a boundary of the cumulative distribution.
 */
import { tree } from '@jax-js/jax';
import type { AutodiffSlots } from '../autodiff/engine';
import { finishSampling, type Sampling, sampleNext, startSampling } from '../autodiff/sampling';
import { checkJobs, checkSlots } from '../check-decode';
import type { DecodeJob, DecodeOptions, DecodeResult } from '../engine';
import type { ModelShape } from '../parameters';
import { BLOCK, type Cache, type DecodePasses, decodePasses } from './decode-passes';
import { type ArrayMaker, read } from './device';
import type { ModelState } from './model-state';

/** A job on its way, and its place in the arrays. */
interface Active extends Sampling {
  /** Its row in the arrays of the call. */
  readonly row: number;
  /** Positions of its cache that hold a key and value; those in the block come on top. */
  filled: number;
}

/** Fewest rows that are worth a compiled function of their own. */
const MIN_ROWS = 16;

/** KV caches of one model's slots. `dispose` frees them. */
export class CacheSlots implements AutodiffSlots<ModelState> {
  private readonly passes: DecodePasses;
  private cache: Cache | undefined;
  private filled = new Uint32Array(0);
  private positions = 0;

  constructor(
    private readonly shape: ModelShape,
    private readonly make: ArrayMaker,
  ) {
    this.passes = decodePasses(shape);
  }

  /** Bytes of the caches. */
  get bytes(): number {
    return 4 * 2 * this.shape.layers * this.filled.length * this.positions * this.shape.dModel;
  }

  /** The same numbers again change nothing; other numbers give empty caches. */
  open(slots: number, positions: number): void {
    if (slots === this.filled.length && positions === this.positions) return;
    checkSlots(this.shape, slots, positions);
    this.dispose();
    this.cache = this.emptyCache(slots, positions);
    this.filled = new Uint32Array(slots);
    this.positions = positions;
  }

  /** @throws see `checkJobs`; nothing has run then */
  async decode(model: ModelState, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    checkJobs(this.shape, jobs, this.filled, this.positions);
    const rows = this.rowsFor(jobs.length);
    const everySlot = rows === this.filled.length; // then rows are slots, and the cache is not copied
    const active = jobs.map(
      (job, i): Active => ({ ...startSampling(job), row: everySlot ? job.slot : i, filled: job.start }),
    );
    const sample: Sampler = (a, output) => sampleNext(a, output, a.row, this.shape.vocabulary, options);
    if (active.length > 0) {
      const batch = { active, rows, past: everySlot ? tree.ref(this.cache!) : this.take(active, rows) };
      try {
        await this.prefill(model, batch, sample);
        await this.extend(model, batch, sample);
        if (everySlot) {
          tree.dispose(this.cache);
          this.cache = tree.ref(batch.past);
        } else this.put(batch);
      } finally {
        tree.dispose(batch.past);
      }
    }
    return finishSampling(active, this.filled);
  }

  dispose(): void {
    tree.dispose(this.cache);
    this.cache = undefined;
  }

  private emptyCache(rows: number, positions: number): Cache {
    const zeros = () => this.make.zeros([rows, positions, this.shape.dModel]);
    return Array.from({ length: this.shape.layers }, () => ({ keys: zeros(), values: zeros() }));
  }

  /** All slots, half of them, a quarter …: few sizes are compiled, and few rows run in vain. */
  private rowsFor(jobs: number): number {
    let rows = this.filled.length;
    while (Math.ceil(rows / 2) >= Math.max(jobs, MIN_ROWS)) rows = Math.ceil(rows / 2);
    return rows;
  }

  /** A working copy of the jobs' cache rows. */
  private take(active: readonly Active[], rows: number): Cache {
    const slots = new Int32Array(rows); // spare rows copy slot 0 and are not written back
    for (const { job, row } of active) slots[row] = job.slot;
    return this.passes.take(tree.ref(this.cache!), this.make.of(slots));
  }

  private put({ active, past }: Batch): void {
    const from = new Int32Array(this.filled.length).fill(-1);
    for (const { job, row } of active) from[job.slot] = row;
    this.cache = this.passes.put(this.cache!, tree.ref(past), this.make.of(from));
  }

  /** Feeds what the jobs bring and samples their first tokens. */
  private async prefill(model: ModelState, batch: Batch, sample: Sampler): Promise<void> {
    const { active, rows } = batch;
    const longest = Math.max(...active.map(({ job }) => job.feed.length));
    for (let from = 0; from < longest; from += BLOCK) {
      const ids = new Int32Array(rows * BLOCK);
      const previous = new Int32Array(rows * BLOCK);
      const last = new Int32Array(rows);
      const count = new Int32Array(rows);
      for (const { job, row } of active) {
        const part = job.feed.subarray(from, from + BLOCK);
        if (part.length === 0) continue;
        ids.set(part, row * BLOCK);
        previous[row * BLOCK] = from > 0 ? job.feed[from - 1]! : job.start > 0 ? job.previous : 0;
        previous.set(part.subarray(0, -1), row * BLOCK + 1);
        last[row] = part.length - 1;
        count[row] = part.length;
      }
      const { block, output } = this.passes.prefill(
        tree.ref(model.weights),
        tree.ref(batch.past),
        {
          ids: this.make.of(ids, [rows, BLOCK]),
          previous: this.make.of(previous, [rows, BLOCK]),
          filled: this.filledOf(batch),
        },
        this.make.of(last),
      );
      this.merge(batch, block, count);
      const ends = (a: Active) => a.job.feed.length > from && a.job.feed.length <= from + BLOCK;
      if (!active.some(ends)) {
        output.dispose();
        continue;
      }
      const data = await read(output);
      for (const a of active) if (ends(a)) sample(a, data);
    }
  }

  /** Samples until every job has ended. */
  private async extend(model: ModelState, batch: Batch, sample: Sampler): Promise<void> {
    const { active, rows } = batch;
    let block = this.emptyCache(rows, BLOCK);
    let used = 0;
    const count = new Int32Array(rows);
    while (active.some((a) => !a.done)) {
      const ids = new Int32Array(rows);
      const previous = new Int32Array(rows);
      for (const a of active) {
        if (a.done) continue;
        ids[a.row] = a.ids.at(-1)!;
        previous[a.row] = a.ids.at(-2) ?? a.job.feed.at(-1)!;
        count[a.row] = used + 1;
      }
      const result = this.passes.step(
        tree.ref(model.weights),
        tree.ref(batch.past),
        block,
        this.make.of(Int32Array.of(used)),
        {
          ids: this.make.of(ids, [rows, 1]),
          previous: this.make.of(previous, [rows, 1]),
          filled: this.filledOf(batch),
        },
      );
      block = result.block;
      const data = await read(result.output);
      for (const a of active) if (!a.done) sample(a, data);
      used++;
      if (used < BLOCK) continue;
      this.merge(batch, block, count);
      block = this.emptyCache(rows, BLOCK);
      count.fill(0);
      used = 0;
    }
    this.merge(batch, block, count);
  }

  /** @param block consumed @param count [rows] positions of the block that hold something */
  private merge(batch: Batch, block: Cache, count: Int32Array): void {
    batch.past = this.passes.merge(batch.past, block, this.filledOf(batch), this.make.of(count));
    for (const a of batch.active) a.filled += count[a.row]!;
  }

  private filledOf({ active, rows }: Batch) {
    const filled = new Int32Array(rows);
    for (const { row, filled: positions } of active) filled[row] = positions;
    return this.make.of(filled);
  }
}

/** The jobs of a call and the cache rows they work on. */
interface Batch {
  readonly active: Active[];
  readonly rows: number;
  past: Cache;
}

/** Takes the next token of a job from [rows, V + 1] log-probs and values. */
type Sampler = (active: Active, output: Float32Array) => void;
