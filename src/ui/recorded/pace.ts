/** How long a run takes on this machine, as far as runs kept here tell. */
import type { RunConfig } from '../../core/config/config';
import type { IterationRecord } from '../../core/metrics/records';

/** What decides the cost of an episode. Runs that differ in one of these say little about each other's time. */
const costly = [
  'suite',
  'difficultyMin',
  'difficultyMax',
  'turnSlack',
  'compaction',
  'window',
  'actionCap',
  'observationCap',
  'summaryCap',
  'maxCompactions',
  'base',
  'dModel',
  'layers',
  'heads',
  'mlp',
  'attempts',
  'critic',
  'epochs',
  'evalEvery',
  'evalEpisodes',
  'engine',
] as const satisfies readonly (keyof RunConfig)[];

/** Whether the time of a run with one configuration says how long one with the other takes. */
export const comparable = (a: RunConfig, b: RunConfig): boolean => costly.every((name) => a[name] === b[name]);

/** Time of a whole run by the pace of another, ms: in proportion to iterations and episodes. Null without an iteration. */
export function timeByPace(records: readonly IterationRecord[], ran: RunConfig, wanted: RunConfig): number | null {
  if (records.length === 0) return null;
  const spent = records.reduce((sum, { rolloutMs, updateMs, evalMs }) => sum + rolloutMs + updateMs + evalMs, 0);
  return (spent / (records.length * ran.episodes)) * wanted.iterations * wanted.episodes;
}
