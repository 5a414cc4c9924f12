/** How often intervals hold the truth at the numbers of seeds and warm starts that experiments have, in simulated outcomes. */
import { RandomStream } from '../../core/rng';
import { type Clustered, clusterInterval, hierarchicalBootstrap } from '../../core/statistics/clusters';
import { type Interval, predictionInterval, tInterval } from '../../core/statistics/intervals';
import { integerOption } from '../arguments';
import type { Bench } from '../bench';
import { type OutcomeModel, outcomeModels } from '../coverage-models';

/** Seeds and warm starts; seed s begins from warm start 1 + (s − 1) mod W, as in experiments. */
const designs = [
  { seeds: 10, warmStarts: 5 },
  { seeds: 10, warmStarts: 3 },
  { seeds: 5, warmStarts: 5 },
  { seeds: 3, warmStarts: 3 },
] as const;
type Design = (typeof designs)[number];

/** The bootstrap costs thousands of draws a trial. */
const BOOTSTRAP_SHARE = 10;
const RESAMPLES = 500;

const contains = (interval: Interval | null, value: number) =>
  interval !== null && interval.low <= value && value <= interval.high;
const valuesOf = (sample: readonly Clustered[]) => sample.map(({ value }) => value);

/** Shares of trials in which the interval held what it should, in %, each with its standard error. */
interface Coverage {
  readonly percent: number;
  readonly standardError: number;
  readonly nominal: number;
}
function coverage(hits: number, trials: number, nominal: number): Coverage {
  const p = hits / trials;
  const round = (value: number) => Math.round(value * 100) / 100;
  return { percent: round(100 * p), standardError: round(100 * Math.sqrt((p * (1 - p)) / trials)), nominal };
}

function simulate(model: OutcomeModel, { seeds, warmStarts }: Design, trials: number, key: number) {
  const stream = new RandomStream(key, 'test', 0);
  const hits = { warmStarts95: 0, warmStarts90: 0, seeds95: 0, bootstrap95: 0, newSeed95: 0 };
  const bootstrapTrials = Math.ceil(trials / BOOTSTRAP_SHARE);
  for (let trial = 0; trial < trials; trial++) {
    const bases = Array.from({ length: warmStarts }, () => model.warmStart(stream));
    const sample = Array.from({ length: seeds }, (_, s): Clustered => {
      const cluster = s % warmStarts;
      return { cluster, value: model.seed(bases[cluster]!, stream) };
    });
    // One more seed, of one of the warm starts that are there.
    const another = model.seed(stream.pick(bases), stream);
    hits.warmStarts95 += Number(contains(clusterInterval(sample, 0.95), model.truth));
    hits.warmStarts90 += Number(contains(clusterInterval(sample, 0.9), model.truth));
    hits.seeds95 += Number(contains(tInterval(valuesOf(sample), 0.95), model.truth));
    hits.newSeed95 += Number(contains(predictionInterval(valuesOf(sample), 0.95), another));
    if (trial >= bootstrapTrials) continue;
    const bootstrap = hierarchicalBootstrap(sample, { resamples: RESAMPLES, seed: trial });
    hits.bootstrap95 += Number(contains(bootstrap, model.truth));
  }
  return {
    outcome: model.name,
    ratio: model.ratio,
    seeds,
    warmStarts,
    coverage: {
      warmStarts95: coverage(hits.warmStarts95, trials, 95),
      warmStarts90: coverage(hits.warmStarts90, trials, 90),
      seeds95: coverage(hits.seeds95, trials, 95),
      bootstrap95: coverage(hits.bootstrap95, bootstrapTrials, 95),
      newSeed95: coverage(hits.newSeed95, trials, 95),
    },
  };
}

const text = ({ percent, standardError }: Coverage) => `${percent.toFixed(1)} (${standardError.toFixed(1)})`;

const bench: Bench = {
  name: 'coverage',
  summary: '% of simulated experiments whose intervals hold the true mean, by seeds, warm starts and kind of outcome',
  options: { trials: { help: 'simulated experiments a row (default 20000); the bootstrap gets a tenth' } },
  async run(run) {
    const trials = integerOption(run, 'trials', 20_000, [100, 1_000_000]);
    const rows = outcomeModels.flatMap((model, m) => {
      run.note(`${model.name}, ratio ${model.ratio} …`);
      return designs.map((design, d) => simulate(model, design, trials, 1 + m * designs.length + d));
    });
    return {
      values: { trials, resamples: RESAMPLES, rows },
      table: [
        [
          'outcome',
          'ratio',
          'seeds/starts',
          'warm starts 95',
          'warm starts 90',
          'seeds 95',
          'bootstrap 95',
          'new seed 95',
        ],
        ...rows.map(({ outcome, ratio, seeds, warmStarts, coverage: c }) => [
          outcome,
          String(ratio),
          `${seeds}/${warmStarts}`,
          ...[c.warmStarts95, c.warmStarts90, c.seeds95, c.bootstrap95, c.newSeed95].map(text),
        ]),
      ],
      remarks: [
        'coverage in % (standard error); ratio: spread of warm starts over that of seeds',
        'shown as the interval of a mean: warm starts 95; new seed: prediction of one more seed of the same warm starts',
      ],
    };
  },
};
export default bench;
