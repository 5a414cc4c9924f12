/** The cells of an experiment: which runs and evaluations it consists of, in which order, and what names each of them. */
import { nonDefault, type PartialConfig, parseConfig, type RunConfig } from '../config/config';
import { LabError } from '../errors';
import type { Arm, Experiment, Setup } from './experiment';

/**
 * Which rules the numbers of a configuration come from. Raised when the meaning of a key, a default of the config table or the
 * way of evaluating changes, for those configurations alone whose numbers change with it.
 */
function rulesVersion({ trainSummary }: RunConfig): number {
  // 2: env tokens leave out what a frozen writer reads again.
  return trainSummary === 'frozen' ? 2 : 1;
}

/** One arm of one setup with one seed. */
export interface Cell {
  readonly setup: Setup;
  readonly arm: Arm;
  readonly seed: number;
  readonly config: RunConfig;
  /** `train`, `base`, or the cell whose final policy is evaluated. */
  readonly policy: 'train' | 'base' | Cell;
  /** Who writes the summaries of evaluations; null: the policy itself, or what `trainSummary` says. */
  readonly writer: 'base' | Cell | null;
  /** Cells whose final policies it needs; they come before it. */
  readonly dependsOn: readonly Cell[];
  /** 16 hexadecimal digits of everything that decides its numbers, the seed apart. */
  readonly hash: string;
  /** `<setup>--<arm>--seed-<n>--<hash>`: its name in files. */
  readonly name: string;
}

/** Which cells are wanted; what is left out is not restricted. */
export interface CellFilter {
  /** First and last seed. */
  readonly seeds?: readonly [number, number] | undefined;
  readonly arms?: readonly string[] | undefined;
  readonly setups?: readonly string[] | undefined;
}

/** Which independently warm-started base a seed begins from. */
export function warmStartOf(experiment: Pick<Experiment, 'warmStarts'>, seed: number): number {
  return 1 + ((seed - 1) % experiment.warmStarts);
}

/** The configuration of a cell. @throws LabError config.… when its parts do not fit together */
export function cellConfig(experiment: Experiment, setup: Setup, arm: Arm, seed: number): RunConfig {
  return parseConfig({
    ...experiment.shared,
    ...setup.config,
    ...arm.config,
    ...(experiment.warmStarts > 1 && { warmStart: warmStartOf(experiment, seed) }),
  });
}

/** Whether an arm runs in a setup. */
export function runsIn(arm: Arm, setup: Setup): boolean {
  return arm.setups === undefined || arm.setups.includes(setup.id);
}

/** Number of seeds of an arm, in a setup where one is given. */
export function seedsOf(experiment: Experiment, arm: Arm, setup?: Setup): number {
  const most = arm.seeds ?? experiment.seeds;
  return Math.min(most, setup?.seeds ?? most);
}

/** What an arm's policy and writer name, where they name another arm. */
export function armsNeeded(arm: Arm): string[] {
  return [arm.policy, arm.writer].filter(
    (source): source is string => source !== undefined && source !== 'train' && source !== 'base',
  );
}

/** JSON with sorted keys: equal content, equal text. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** First 16 hexadecimal digits of SHA-256 of what an array holds. */
export async function fingerprint({ buffer, byteOffset, byteLength }: ArrayBufferView): Promise<string> {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength).slice();
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes), 0, 8);
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const hashOf = (content: unknown) => fingerprint(new TextEncoder().encode(canonical(content)));

/**
 * Keys that decide the numbers: those that differ from the defaults, so that a key added to the table later, whose default
 * changes nothing, leaves hashes as they are. The number of terminal workers decides nothing.
 */
function deciding(config: RunConfig): PartialConfig {
  const { terminalWorkers: _, ...rest } = nonDefault(config);
  return rest;
}

function requireKnown(what: string, wanted: readonly string[] | undefined, known: readonly string[]): void {
  const unknown = wanted?.find((id) => !known.includes(id));
  if (unknown === undefined) return;
  throw new LabError({
    code: 'experiment.unknown-id',
    what: `The experiment has no such ${what}`,
    where: `${what}s`,
    expected: known.join(' | '),
    got: JSON.stringify(unknown.slice(0, 64)),
  });
}

/**
 * The cells of an experiment with what they depend on, ordered by seed, then setup, then arm, and dependencies before what
 * needs them: an experiment that is broken off has as many seeds of every arm.
 * @param experiment parsed by `parseExperiment`
 * @throws `experiment.unknown-id` for an arm or setup that is not there
 */
export async function cellsOf(experiment: Experiment, filter: CellFilter = {}): Promise<Cell[]> {
  const arms = new Map(experiment.arms.map((arm) => [arm.id, arm]));
  requireKnown('arm', filter.arms, [...arms.keys()]);
  requireKnown(
    'setup',
    filter.setups,
    experiment.setups.map(({ id }) => id),
  );
  const [first, last] = filter.seeds ?? [1, experiment.seeds];
  const cells = new Map<string, Cell>();

  /** The cell, made with its dependencies where it is not yet there. */
  const cellOf = async (setup: Setup, arm: Arm, seed: number): Promise<Cell> => {
    const key = `${setup.id}--${arm.id}--seed-${seed}`;
    const known = cells.get(key);
    if (known) return known;
    const other = <T extends string>(source: T) => cellOf(setup, arms.get(source)!, seed);
    const policy =
      arm.policy === undefined || arm.policy === 'train' || arm.policy === 'base'
        ? ((arm.policy ?? 'train') as 'train' | 'base')
        : await other(arm.policy);
    const writer = arm.writer === undefined ? null : arm.writer === 'base' ? 'base' : await other(arm.writer);
    const config = cellConfig(experiment, setup, arm, seed);
    const name = (source: 'train' | 'base' | Cell | null) => (typeof source === 'object' ? source?.hash : source);
    const hash = await hashOf({
      version: rulesVersion(config),
      config: deciding(config),
      policy: name(policy),
      writer: name(writer) ?? null,
    });
    const dependsOn = [policy, writer].filter(
      (source): source is Cell => typeof source === 'object' && source !== null,
    );
    const cell: Cell = { setup, arm, seed, config, policy, writer, dependsOn, hash, name: `${key}--${hash}` };
    cells.set(key, cell);
    return cell;
  };

  for (let seed = first; seed <= last; seed++)
    for (const setup of experiment.setups) {
      if (filter.setups && !filter.setups.includes(setup.id)) continue;
      for (const arm of experiment.arms) {
        if (filter.arms && !filter.arms.includes(arm.id)) continue;
        if (runsIn(arm, setup) && seed <= seedsOf(experiment, arm, setup)) await cellOf(setup, arm, seed);
      }
    }
  return [...cells.values()];
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));

/**
 * The cells of shard `index` of `of`: all cells of a setup and seed are in one shard, so that a policy is trained where it is
 * needed. The shards are a partition, and setups take turns among them.
 * @param index 1 … `of`
 */
export function shardOf(experiment: Experiment, cells: readonly Cell[], index: number, of: number): Cell[] {
  const setups = experiment.setups.map(({ id }) => id);
  // Without the shift after each full lap, a number of shards that setups divide would give each shard the same setup.
  const lap = (setups.length / commonDivisor(setups.length, of)) * of;
  return cells.filter(({ setup, seed }) => {
    const place = (seed - 1) * setups.length + setups.indexOf(setup.id);
    return (place + Math.floor(place / lap)) % of === index - 1;
  });
}
