/**
 * Our engine beside what a user would otherwise take: the same model, batch and tokens, in one process on one adapter, in
 * turn. Results are compared before anything is timed.
 */

import { LabError } from '../../core/errors';
import type { KernelPlan } from '../../core/kernels';
import type { PeerName, Peers, PeerTask } from '../../core/protocol/bench';
import type { GpuContext } from '../../gpu/device';
import type { DecodeResult, PolicyEngine, UpdateStats } from '../../model/engine';
import type { ModelShape } from '../../model/parameters';
import type { MeasuredModel } from './models';
import { alternate, mapSpread, type Spread } from './rounds';
import { batchTokens, type DecodedWindow, startDecode, startUpdate } from './workloads';

export { type PeerName, type Peers, type PeerTask, peerNames, peerTasks } from '../../core/protocol/bench';

/**
 * Loads and opens an engine. tfjs shares our device; jax-js asks the same adapter for one of its own.
 * @param options.gpu WebGPU outside of a browser, for jax-js
 * @param options.kernels of our engine; left out: the defaults
 * @throws what the engine's factory throws
 */
export async function openPeer(
  name: PeerName,
  context: GpuContext,
  shape: ModelShape,
  options: { readonly gpu?: GPU; readonly kernels?: KernelPlan } = {},
): Promise<PolicyEngine> {
  if (name === 'tfjs') return (await import('../../model/tfjs/engine')).createTfjsEngine(context, shape);
  if (name === 'jax')
    return (await import('../../model/jax/engine')).createJaxEngine('webgpu', shape, { gpu: options.gpu });
  return (await import('../../model/webgpu/engine')).createWebGpuEngine(context, shape, options.kernels);
}

/**
 * Float32 sums in another order, over thousands of tokens and a few layers: relative differences of 1e-6 are seen.
 */
const STATS_TOLERANCE = 1e-4;
/** Log-probs and values of the first window, each of order 1. */
const OUTPUT_TOLERANCE = 1e-3;
/** Share of sampled sequences that may leave the common path, each at a draw that lies at a boundary between two ids. */
const MAX_BRANCHES = 0.05;

function differs(what: string, where: string, expected: unknown, got: unknown): LabError {
  return new LabError({
    code: 'measure.peers-differ',
    what: `Two engines disagree on ${what}, so their speeds cannot be compared`,
    where,
    expected: String(expected),
    got: String(got),
  });
}

/** @throws `measure.peers-differ` unless loss and gradient norm agree and are finite */
export function requireSameUpdate(a: UpdateStats, b: UpdateStats, where: string): void {
  for (const field of ['loss', 'gradNorm'] as const) {
    const difference = Math.abs(a[field] - b[field]);
    // Written so that NaN fails.
    if (!(difference <= STATS_TOLERANCE * Math.max(1, Math.abs(a[field]))))
      throw differs(field, where, a[field], b[field]);
  }
}

/**
 * Compares the first call of a window, sequence by sequence: ids, log-probs and values agree up to a first difference of
 * ids, where the two ids must be neighbours, as the same draw selects both at the boundary of the cumulative
 * distribution. Later calls feed what was sampled, so they are not compared.
 * @returns how many sequences branched
 * @throws `measure.peers-differ`
 */
export function requireSameTokens(a: readonly DecodeResult[], b: readonly DecodeResult[], where: string): number {
  let branches = 0;
  if (a.length !== b.length) throw differs('the number of results', where, a.length, b.length);
  a.forEach((x, j) => {
    const y = b[j]!;
    const branch = x.ids.findIndex((id, i) => id !== y.ids[i]);
    const at = `${where}, sequence ${j}`;
    if (branch >= 0) {
      branches++;
      if (!(Math.abs(x.ids[branch]! - y.ids[branch]!) === 1))
        throw differs(`sampled token ${branch}`, at, x.ids[branch], y.ids[branch]);
    } else if (x.ids.length !== y.ids.length) throw differs('the number of tokens', at, x.ids.length, y.ids.length);
    const common = branch >= 0 ? branch : x.ids.length;
    for (let i = 0; i < common; i++)
      for (const [what, p, q] of [
        ['log-prob', x.logp[i]!, y.logp[i]!],
        ['value', x.values[i]!, y.values[i]!],
      ] as const)
        if (!(Math.abs(p - q) <= OUTPUT_TOLERANCE)) throw differs(`the ${what} of token ${i}`, at, p, q);
  });
  if (branches > MAX_BRANCHES * a.length)
    throw differs('sampled tokens', where, `at most ${MAX_BRANCHES * 100} % of ${a.length} sequences`, branches);
  return branches;
}

/** What a task measured. */
export interface PeerRates {
  /** Tokens of one measurement: of the batch, or fed and sampled in one window of all environments. */
  readonly tokens: number;
  readonly tokensPerSecond: Peers<Spread>;
  /** Sequences whose sampled tokens parted at a boundary of the distribution, of all compared with ours. */
  readonly branches?: Peers<number>;
}

type Engines = readonly (readonly [PeerName, PolicyEngine])[];

function rates(ms: Peers<Spread>, tokens: number): Peers<Spread> {
  return Object.fromEntries(Object.entries(ms).map(([name, t]) => [name, mapSpread(t, (x) => (tokens / x) * 1000)]));
}

async function compareUpdates(
  engines: Engines,
  model: MeasuredModel,
  rounds: number,
  onTurn: OnTurn,
): Promise<PeerRates> {
  const contestants: Peers<() => Promise<unknown>> = {};
  let first: UpdateStats | undefined;
  let tokens = 0;
  for (const [name, engine] of engines) {
    const { batch, run } = await startUpdate(engine, batchTokens[model]);
    const stats = await run();
    onTurn(name);
    first ??= stats;
    requireSameUpdate(first, stats, `${model}, update, ${name}`);
    tokens = batch.ids.length;
    contestants[name] = run;
  }
  return { tokens, tokensPerSecond: rates(await alternate(contestants as Contestants, rounds, onTurn), tokens) };
}

async function compareDecodes(
  engines: Engines,
  model: MeasuredModel,
  environments: number,
  rounds: number,
  onTurn: OnTurn,
): Promise<PeerRates> {
  const contestants: Peers<() => Promise<unknown>> = {};
  const branches: Peers<number> = {};
  let first: DecodedWindow | undefined;
  for (const [name, engine] of engines) {
    const { run } = await startDecode(engine, environments);
    const window = await run();
    onTurn(name);
    first ??= window;
    branches[name] = requireSameTokens(first.calls[0]!, window.calls[0]!, `${model}, decode${environments}, ${name}`);
    contestants[name] = run;
  }
  const { tokens } = first!;
  return {
    tokens,
    tokensPerSecond: rates(await alternate(contestants as Contestants, rounds, onTurn), tokens),
    branches,
  };
}

type OnTurn = (name: PeerName) => void;
type Contestants = Readonly<Record<PeerName, () => Promise<unknown>>>;

/**
 * Measures one task of one model.
 * @param engines at least one, all of the model's shape; the first is what the others are compared with
 * @param rounds counted rounds, after two that are not: one is compared, one warms up
 * @param onTurn called after each piece of work, `rounds` + 2 times for each engine; what it throws ends the measurement
 * @throws `measure.peers-differ` before anything is timed
 */
export function comparePeers(
  engines: Engines,
  model: MeasuredModel,
  task: PeerTask,
  rounds: number,
  onTurn: OnTurn = () => {},
): Promise<PeerRates> {
  if (task === 'update') return compareUpdates(engines, model, rounds, onTurn);
  return compareDecodes(engines, model, task === 'decode64' ? 64 : 256, rounds, onTurn);
}
