/** Verdicts as a table for other programs: every claim in every setup a line. */
import { type CsvField, csv } from '../csv';
import { kindOf } from './verdict-words';
import type { ClaimResult } from './verdicts';

const head = [
  'claim',
  'setup',
  'left.arm',
  'left.outcome',
  'right.arm',
  'right.outcome',
  'n',
  'mean',
  'sd',
  'low95',
  'high95',
  'low90',
  'high90',
  'p',
  'adjustedP',
  'correlation',
  'kind',
  'finding',
  'verdict',
  'small',
  'text',
];

/** Header row included. Differences left − right in the unit of the outcome (shares 0 to 1). Empty: no such value yet. */
export function claimsCsv(results: readonly ClaimResult[]): string {
  const line = (result: ClaimResult): CsvField[] => {
    const {
      claim,
      setup,
      n,
      mean,
      sd,
      interval,
      interval90,
      signFlip,
      adjustedP,
      correlation,
      finding,
      verdict,
      small,
    } = result;
    return [
      claim.id,
      setup,
      claim.left.arm,
      claim.left.outcome,
      claim.right.arm,
      claim.right.outcome,
      n,
      mean,
      sd,
      interval?.low ?? null,
      interval?.high ?? null,
      interval90?.low ?? null,
      interval90?.high ?? null,
      signFlip?.p ?? null,
      adjustedP,
      correlation,
      kindOf(claim),
      finding,
      verdict,
      String(small),
      claim.text,
    ];
  };
  return csv([head, ...results.map(line)]);
}
