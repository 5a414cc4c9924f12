/**
 * Results with their statistics, as the parts of a comparison ask for them. Loaded with the first comparison, as the library
 * behind the statistics is large: the elements import types from here, nothing else.
 */
import { runsIn, seedsOf, warmStartOf } from '../../core/experiment/cells';
import type { Arm, CellResult, Experiment, ExperimentResults, Outcome, Setup } from '../../core/experiment/experiment';
import {
  type ArmSample,
  armTable,
  type ClaimResult,
  decideClaims,
  EQUIVALENCE_MARGIN,
  intervalOf,
  meanOf,
  type SeedValue,
} from '../../core/experiment/verdicts';
import { type Interval, predictionInterval } from '../../core/statistics/intervals';
import { signFlipNote } from '../../core/statistics/tests';

export class Comparison {
  private readonly byPlace = new Map<string, CellResult[]>();

  private readonly samples = new Map<string, ArmSample>();
  /** Every claim in every setup it is decided in. */
  readonly claims: readonly ClaimResult[];
  /** Success that differs by no more is as good as equal. */
  readonly margin = EQUIVALENCE_MARGIN;
  /** How p comes about, in a few words. */
  readonly signFlipNote = signFlipNote;

  constructor(readonly results: ExperimentResults) {
    for (const cell of results.cells) {
      const key = `${cell.setup} ${cell.arm}`;
      this.byPlace.set(key, [...(this.byPlace.get(key) ?? []), cell]);
    }
    for (const sample of armTable(results)) this.samples.set(`${sample.setup} ${sample.arm} ${sample.outcome}`, sample);
    this.claims = decideClaims(results);
  }

  get experiment(): Experiment {
    return this.results.experiment;
  }
  get setups(): readonly Setup[] {
    return this.experiment.setups;
  }
  get arms(): readonly Arm[] {
    return this.experiment.arms;
  }
  /** Most claims are the paper's: its table belongs beside ours. */
  get followsPaper(): boolean {
    const { claims } = this.experiment;
    return 2 * claims.filter(({ paper }) => paper !== undefined).length > claims.length;
  }
  /** How intervals are computed, in a few words; of one setup, or of all that are shown. */
  intervalNote(setupIds: readonly string[] = this.setups.map(({ id }) => id)): string {
    if (this.experiment.warmStarts === 1) return 'Student’s t on seeds, which all begin from the same warm start';
    const setups = this.setups.filter(({ id }) => setupIds.includes(id));
    return `Student’s t on the means of warm starts, ${this.perSetup(setups, (setup) => String(this.warmStartsOf(setup)))}`;
  }
  /** Numbers of seeds, in words: one, or one for each setup where they differ. */
  get seedsNote(): string {
    return this.perSetup(this.setups, (setup) => `${this.seedsOf(setup)} seeds`);
  }
  private perSetup(setups: readonly Setup[], say: (setup: Setup) => string): string {
    const groups = new Map<string, string[]>();
    for (const setup of setups) groups.set(say(setup), [...(groups.get(say(setup)) ?? []), setup.title]);
    if (groups.size === 1) return [...groups.keys()][0]!;
    const list = new Intl.ListFormat('en');
    return [...groups]
      .map(([words, titles]) => `${words} in ${list.format(titles.map((title) => `“${title}”`))}`)
      .join('; ');
  }

  /** Mean of warm-start means; null of no values. */
  mean(values: readonly SeedValue[]): number | null {
    return meanOf(this.experiment, values);
  }
  /** 95 % interval of the mean; null where there are too few values. */
  interval(values: readonly SeedValue[]): Interval | null {
    return intervalOf(this.experiment, values);
  }
  /** Where one more seed falls with 95 % probability; null of fewer than two. */
  prediction(setup: string, arm: string, outcome: Outcome): Interval | null {
    const sample = this.sample(setup, arm, outcome);
    return sample && predictionInterval(sample.values.map(({ value }) => value));
  }

  /** Id of the arm that most claims are about: the others are drawn beside it. */
  get reference(): string {
    const counts = new Map<string, number>();
    for (const { left } of this.experiment.claims) counts.set(left.arm, (counts.get(left.arm) ?? 0) + 1);
    const [first] = [...counts].sort((a, b) => b[1] - a[1]);
    return first?.[0] ?? this.arms[0]!.id;
  }

  arm(id: string): Arm | undefined {
    return this.arms.find((arm) => arm.id === id);
  }
  armsOf(setupId: string): readonly Arm[] {
    const setup = this.setups.find(({ id }) => id === setupId);
    return setup ? this.arms.filter((arm) => runsIn(arm, setup)) : [];
  }
  /** Most seeds of any arm in a setup. */
  seedsOf({ seeds }: Setup): number {
    return Math.min(this.experiment.seeds, seeds ?? this.experiment.seeds);
  }
  /** Warm starts that the seeds of a setup begin from. */
  warmStartsOf(setup: Setup): number {
    return Math.min(this.experiment.warmStarts, this.seedsOf(setup));
  }
  /** Whether the base that a seed of a setup begins from is one that the experiment has. */
  hasBase(setup: Setup, seed: number): boolean {
    return warmStartOf(this.experiment, seed) <= this.warmStartsOf(setup);
  }
  /** The first seed beyond the recorded ones that has a base. */
  newSeed(setup: Setup): number {
    let seed = this.seedsOf(setup) + 1;
    while (!this.hasBase(setup, seed)) seed++;
    return seed;
  }
  /** Trained with every seed of the experiment: shown first. */
  isMain(armId: string): boolean {
    const arm = this.arm(armId);
    return (
      arm !== undefined &&
      (arm.policy ?? 'train') === 'train' &&
      seedsOf(this.experiment, arm) === this.experiment.seeds
    );
  }

  cells(setup: string, arm: string): readonly CellResult[] {
    return this.byPlace.get(`${setup} ${arm}`) ?? [];
  }

  /** An outcome of an arm over its seeds; null where the arm does not run in the setup. */
  sample(setup: string, arm: string, outcome: Outcome): ArmSample | null {
    return this.samples.get(`${setup} ${arm} ${outcome}`) ?? null;
  }

  /** Cells that the experiment asks for and that are not there. */
  get missing(): readonly { readonly setup: Setup; readonly arm: Arm; readonly seeds: readonly number[] }[] {
    return this.setups.flatMap((setup) =>
      this.armsOf(setup.id).flatMap((arm) => {
        // Every cell has success with compaction.
        const seeds = this.sample(setup.id, arm.id, 'comp')?.missing ?? [];
        return seeds.length > 0 ? [{ setup, arm, seeds }] : [];
      }),
    );
  }
}
