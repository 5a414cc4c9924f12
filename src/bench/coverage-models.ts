/** Made-up outcomes whose mean is known: what simulated intervals must cover. A warm start has an effect, seeds vary around it. */
import type { RandomStream } from '../core/rng';

export interface OutcomeModel {
  readonly name: string;
  /** Spread of warm starts over that of seeds, before the outcome is bounded. */
  readonly ratio: number;
  readonly truth: number;
  /** What a warm start is worth, drawn once a warm start. */
  readonly warmStart: (stream: RandomStream) => readonly number[];
  /** The outcome of a seed. */
  readonly seed: (effects: readonly number[], stream: RandomStream) => number;
}

const EPISODES = 1024;
/** Spread of seeds in log-odds. */
const SEED_SD = 0.5;

const logistic = (x: number) => 1 / (1 + Math.exp(-x));

/** Mean of logistic(centre + sd·Z), Z standard normal: midpoint rule on ±8. */
function meanLogistic(centre: number, sd: number): number {
  const step = 0.001;
  let sum = 0;
  for (let z = -8 + step / 2; z < 8; z += step) sum += logistic(centre + sd * z) * Math.exp((-z * z) / 2);
  return (sum * step) / Math.sqrt(2 * Math.PI);
}

/** Share of 1,024 episodes solved: normal approximation of the binomial, whole episodes, cut at none and all. */
function played(p: number, stream: RandomStream): number {
  const solved = Math.round(EPISODES * p + Math.sqrt(EPISODES * p * (1 - p)) * stream.normal());
  return Math.min(EPISODES, Math.max(0, solved)) / EPISODES;
}

const normals = (stream: RandomStream) => [stream.normal(), stream.normal()];

const normal = (ratio: number): OutcomeModel => ({
  name: 'normal',
  ratio,
  truth: 0,
  warmStart: normals,
  seed: ([base = 0], stream) => ratio * base + stream.normal(),
});

/** Success of one arm around 88 %: bounded and skewed. */
const success = (ratio: number): OutcomeModel => ({
  name: 'success near 88 %',
  ratio,
  truth: meanLogistic(2, SEED_SD * Math.hypot(ratio, 1)),
  warmStart: normals,
  seed: ([base = 0], stream) => played(logistic(2 + SEED_SD * (ratio * base + stream.normal())), stream),
});

/** Paired difference of two arms around 80 and 62 %; half of what the warm start does to the first, it does to it alone. */
const difference = (ratio: number): OutcomeModel => ({
  name: 'difference of success',
  ratio,
  truth:
    meanLogistic(1.5, SEED_SD * Math.hypot(ratio, ratio / 2, 1)) - meanLogistic(0.5, SEED_SD * Math.hypot(ratio, 1)),
  warmStart: normals,
  seed: ([shared = 0, own = 0], stream) => {
    const left = logistic(1.5 + SEED_SD * (ratio * (shared + own / 2) + stream.normal()));
    const right = logistic(0.5 + SEED_SD * (ratio * shared + stream.normal()));
    return played(left, stream) - played(right, stream);
  },
});

/** Seeds that take off (90 %, four of five) or stay behind (30 %): as far from normal as learning curves get. */
const takeOff: OutcomeModel = {
  name: 'four in five take off',
  ratio: 0,
  truth: 0.8 * 0.9 + 0.2 * 0.3,
  warmStart: () => [],
  seed: (_effects, stream) => played(stream.uniform() < 0.8 ? 0.9 : 0.3, stream),
};

/** The same in two arms, one of which takes off half of the time. */
const takeOffDifference: OutcomeModel = {
  name: 'difference, four in five and half take off',
  ratio: 0,
  truth: 0.3 * 0.6,
  warmStart: () => [],
  seed: (_effects, stream) => {
    const left = stream.uniform() < 0.8 ? 0.9 : 0.3;
    const right = stream.uniform() < 0.5 ? 0.9 : 0.3;
    return played(left, stream) - played(right, stream);
  },
};

/** Spreads of warm starts: none, half of and twice the spread of seeds. */
const ratios = [0, 0.5, 2];

export const outcomeModels: readonly OutcomeModel[] = [
  ...ratios.map(normal),
  ...ratios.map(success),
  ...ratios.map(difference),
  takeOff,
  takeOffDifference,
];
