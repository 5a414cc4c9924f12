/** An evaluation on held-out tasks in a file, of a cell or of a single run; apart, so that who reads runs loads no more. */
import * as v from 'valibot';
import type { EvalSummary } from '../metrics/records';
import { count, exactly, finite, list } from './parse';

/** A mean of counts, or a time. */
export const amount = v.pipe(finite, v.minValue(0));
export const share = v.pipe(v.number(), v.minValue(0), v.maxValue(1));
export const orNull = <T>(schema: v.GenericSchema<unknown, T>) => v.nullable(schema);

/** A held-out evaluation in a file. */
export const summarySchema: v.GenericSchema<unknown, EvalSummary> = exactly({
  success: share,
  episodes: count,
  firstAttempt: v.exactOptional(share),
  byCompactions: list(exactly({ solved: count, episodes: count }), 0, 1000),
  successNeedingCompaction: orNull(share),
  meanTurns: amount,
  meanCompactions: amount,
  meanSummaryTokens: amount,
  factRecall: orNull(share),
});
