/**
 * Means and intervals of values that come in clusters: seeds that share a warm start share its luck, so that they tell less than as
 * many independent ones. Float64, in the unit of the outcome. docs/statistics.md has the simulated coverage of each interval.
 */
import { LabError } from '../errors';
import { mean } from '../metrics/metrics';
import { RandomStream } from '../rng';
import { checkFinite, type Interval, tInterval } from './intervals';

/** One value, of a seed, with the number of its cluster, the warm start. */
export interface Clustered {
  readonly cluster: number;
  readonly value: number;
}

/** The values of each cluster, clusters in ascending order. */
function groups(values: readonly Clustered[]): number[][] {
  checkFinite(
    values.map(({ value }) => value),
    'clusters',
  );
  const byCluster = new Map<number, number[]>();
  for (const { cluster, value } of values) byCluster.set(cluster, [...(byCluster.get(cluster) ?? []), value]);
  return [...byCluster].sort(([a], [b]) => a - b).map(([, group]) => group);
}

/** The mean of each cluster, clusters in ascending order. @throws `statistics.finite` */
export function clusterMeans(values: readonly Clustered[]): number[] {
  return groups(values).map((group) => mean(group)!);
}

/** The mean of the cluster means, equal to the plain mean when clusters are of one size; null of nothing. */
export function clusterMean(values: readonly Clustered[]): number | null {
  return mean(clusterMeans(values));
}

/**
 * Interval of the mean over clusters *and* seeds: Student's on the W cluster means, with W − 1 degrees of freedom. Exact for
 * normal effects of clusters and seeds when clusters are of one size, however large either spread is; with one seed a cluster
 * it is the plain t interval. Source: Student (1908) on cluster means; Gelman and Hill (2007), §12.
 * @param level confidence, e.g. 0.95
 * @returns null of fewer than two clusters
 * @throws `statistics.level`, `statistics.finite`
 */
export function clusterInterval(values: readonly Clustered[], level = 0.95): Interval | null {
  return tInterval(clusterMeans(values), level);
}

/**
 * Percentile interval of the mean of cluster means when clusters are drawn again with replacement, then seeds within each. Too
 * narrow with few clusters; a picture of the spread, not what decides. Source: Davison and Hinkley (1997), §3.8.
 * @param options.resamples how often; `seed`, unsigned 32-bit: equal seeds give equal intervals
 * @returns null of fewer than two clusters
 * @throws `statistics.finite`, `statistics.resamples`
 */
export function hierarchicalBootstrap(
  values: readonly Clustered[],
  { level = 0.95, resamples = 2000, seed = 0 }: { level?: number; resamples?: number; seed?: number } = {},
): Interval | null {
  const drawn = groups(values);
  if (drawn.length < 2) return null;
  const least = Math.ceil(2 / (1 - level));
  if (!(Number.isInteger(resamples) && resamples >= least))
    throw new LabError({
      code: 'statistics.resamples',
      what: 'Too few resamples for this level',
      expected: `a whole number, ${least} or more`,
      got: String(resamples),
    });
  const stream = new RandomStream(seed, 'bootstrap', 0);
  const means = Float64Array.from({ length: resamples }, () => {
    let total = 0;
    for (let c = 0; c < drawn.length; c++) {
      const group = stream.pick(drawn);
      let sum = 0;
      for (let s = 0; s < group.length; s++) sum += stream.pick(group);
      total += sum / group.length;
    }
    return total / drawn.length;
  }).sort();
  // Order statistics at (R + 1)·tail, as Davison and Hinkley (5.6) take them.
  const tail = Math.max(1, Math.floor(((resamples + 1) * (1 - level)) / 2));
  return { low: means[tail - 1]!, high: means[resamples - tail]! };
}
