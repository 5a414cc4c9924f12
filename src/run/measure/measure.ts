/** The measurements of a bench cell: the matrix products' best rate, then our engine beside tfjs and jax-js. */

import { errorParts } from '../../core/errors';
import {
  type BenchModel,
  type BenchProgress,
  type BenchReport,
  type BenchRequest,
  type PeerName,
  peerNames,
  peerTasks,
} from '../../core/protocol/bench';
import type { GpuContext } from '../../gpu/device';
import type { ProductVariant } from '../../gpu/kernels/products';
import type { PolicyEngine } from '../../model/engine';
import { build } from '../session/build';
import { type MeasureOptions, measuredChoice } from '../session/kernel-plan';
import { machineFor } from '../session/session';
import { bestOf, largeProducts, sweepProducts } from './matmul-rate';
import { measuredModels } from './models';
import { comparePeers, openPeer } from './peers';

const ROUNDS = 5;
/** Pieces of work that an engine does for a task: one compared, one to warm up, then the counted ones. */
const TURNS = ROUNDS + 2;

/**
 * What a piece of work takes compared with the others, for the estimate of the time left: seen on a software adapter, where
 * waiting matters most.
 */
const COST = {
  product: 10,
  opening: 40,
  model: { quick: 1, d128: 15 },
  engine: { ours: 1, tfjs: 15, jax: 5 },
  task: { update: 1, decode64: 1, decode256: 3 },
} as const;

/** Thrown through the measuring functions to end them; never leaves this file. */
const STOPPED = Symbol('stopped');

export interface BenchOptions extends MeasureOptions {
  /** Ends the measurement after the piece of work in hand. */
  readonly signal: AbortSignal;
  /** Called before and after each piece of work. */
  readonly onBench: (progress: BenchProgress) => void;
}

/**
 * Measures this adapter.
 * @returns what was measured; `complete` is false when `signal` ended it
 * @throws `gpu.…` when the device fails. What only one engine cannot do is listed among the report's problems.
 */
export async function runBench(
  context: GpuContext,
  request: BenchRequest,
  options: BenchOptions,
): Promise<BenchReport> {
  const job = new BenchJob(context, request, options);
  try {
    await job.measureProducts();
    for (const model of request.models) await job.measureModel(model);
    return job.finish();
  } catch (thrown) {
    // A stop also ends the choice of kernels, in that function's own way.
    if (thrown === STOPPED || options.signal.aborted) return job.report;
    throw thrown;
  }
}

class BenchJob {
  report: BenchReport;
  private readonly startedAt = performance.now();
  private readonly sizes: typeof largeProducts;
  private readonly total: number;
  private readonly variants: readonly ProductVariant[] | undefined;
  private lost = false;
  private done = 0;
  private note = '';

  constructor(
    private readonly context: GpuContext,
    request: BenchRequest,
    private readonly options: BenchOptions,
  ) {
    // On a software adapter the smallest of them takes long enough, and barriers far too long.
    const { software } = context.adapter;
    this.sizes = software ? largeProducts.slice(0, 1) : largeProducts;
    this.variants = software ? ['registers', 'subgroup'] : undefined;
    void context.device.lost.then(() => {
      this.lost = true;
    });
    this.total = this.sizes.length * COST.product + request.models.reduce((sum, model) => sum + costOf(model), 0);
    this.report = {
      adapter: machineFor(context, 'webgpu').adapter,
      build,
      browser: globalThis.navigator?.userAgent ?? '',
      date: new Date().toISOString(),
      product: null,
      rows: [],
      problems: [],
      complete: false,
    };
  }

  async measureProducts(): Promise<void> {
    this.begin('matrix products');
    for (const size of this.sizes) {
      const rates = await sweepProducts(this.context, [size], {
        variants: this.variants,
        onRate: () => this.advance(0),
      });
      const { product } = this.report;
      const best = bestOf(rates);
      if (!product || best.gflops.median > product.gflops.median) this.report = { ...this.report, product: best };
      this.advance(COST.product);
    }
  }

  async measureModel(model: BenchModel): Promise<void> {
    const engines: [PeerName, PolicyEngine][] = [];
    try {
      for (const name of peerNames) {
        this.begin(`${model}: opening ${SPOKEN[name]}`);
        await this.guard(name, `${model}, ${SPOKEN[name]}`, async () => {
          engines.push([name, await this.open(name, model)]);
        });
        this.advance(COST.opening);
      }
      if (engines.length > 0) await this.compare(engines, model);
    } finally {
      for (const [, engine] of engines) engine.dispose();
    }
  }

  finish(): BenchReport {
    this.report = { ...this.report, complete: true };
    return this.report;
  }

  private async open(name: PeerName, model: BenchModel): Promise<PolicyEngine> {
    const shape = measuredModels[model];
    if (name !== 'ours') return openPeer(name, this.context, shape);
    // The kernels that a run on this adapter gets.
    const { plan } = await measuredChoice(this.context, shape, this.options);
    return openPeer(name, this.context, shape, { kernels: plan });
  }

  private async compare(engines: readonly [PeerName, PolicyEngine][], model: BenchModel): Promise<void> {
    for (const task of peerTasks) {
      this.begin(`${model}: ${task}`);
      await this.guard(null, `${model}, ${task}`, async () => {
        const { tokens, tokensPerSecond } = await comparePeers(engines, model, task, ROUNDS, (name) =>
          this.advance(COST.model[model] * COST.task[task] * COST.engine[name]),
        );
        this.report = { ...this.report, rows: [...this.report.rows, { model, task, tokens, tokensPerSecond }] };
      });
    }
  }

  /** Notes what fails; a stop, a lost device, and what our own engine cannot open end everything. */
  private async guard(name: PeerName | null, where: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      if (thrown === STOPPED || this.lost || name === 'ours') throw thrown;
      this.report = { ...this.report, problems: [...this.report.problems, { where, ...errorParts(thrown) }] };
    }
  }

  private begin(note: string): void {
    this.note = note;
    this.advance(0);
  }

  private advance(cost: number): void {
    if (this.options.signal.aborted) throw STOPPED;
    this.done += cost;
    const share = Math.min(1, this.done / this.total);
    const elapsedMs = performance.now() - this.startedAt;
    this.options.onBench({
      report: this.report,
      note: this.note,
      share,
      remainingMs: share > 0.05 ? (elapsedMs * (1 - share)) / share : null,
    });
  }
}

const SPOKEN: Readonly<Record<PeerName, string>> = { ours: 'our engine', tfjs: 'tfjs', jax: 'jax-js' };

/** Cost of all that is done with a model. */
function costOf(model: BenchModel): number {
  let turns = 0;
  for (const task of peerTasks)
    for (const name of peerNames) turns += COST.model[model] * COST.task[task] * COST.engine[name];
  return peerNames.length * COST.opening + TURNS * turns;
}
