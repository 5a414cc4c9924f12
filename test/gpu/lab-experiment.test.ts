/** `lab experiment`, `collect` and `verify` as a user starts them: processes of their own, files on disk, real training. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExperimentResults } from '../../src/core/experiment/experiment';
import { parseResults } from '../../src/core/experiment/result';
import type { EvalSummary } from '../../src/core/metrics/records';
import { type Ended, labProgram, runLab } from './lab-support';

const folder = mkdtempSync(join(tmpdir(), 'lab-experiment-'));
const at = (name: string) => join(folder, name);
const file = 'public/experiments/smoke.json';
/** Two arms, one of which needs the other's policy. */
const part = ['--arms', 'full,swap'];
const cells = 4;

let program: string;
const lab = (...words: string[]) => runLab(program, words);
const experiment = (out: string, ...more: string[]) => lab('experiment', file, ...part, '--out', at(out), ...more);
const last = ({ lines }: Ended) => lines[lines.length - 1];

/** The bundle of a folder, times aside. */
async function bundle(out: string): Promise<string> {
  const path = at(`${out}.json`);
  const ended = await lab('collect', at(out), '--out', path, '--strip-times', '--json');
  expect(ended.code, ended.stderr).toBe(0);
  return readFileSync(path, 'utf8');
}

let whole: string;
beforeAll(async () => {
  program = await labProgram();
  const ended = await experiment('whole');
  expect(ended.code, ended.stderr).toBe(0);
  expect(last(ended)).toMatchObject({ done: true, ran: cells, found: 0, open: 0 });
  whole = await bundle('whole');
}, 240_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('lab experiment', () => {
  test('the bundle is what was run, and no times', () => {
    const { experiment: kept, cells: results } = parseResults(JSON.parse(whole), 'whole') as ExperimentResults;
    expect(kept).toEqual(JSON.parse(readFileSync(file, 'utf8')));
    expect(results.map(({ arm, seed }) => `${arm} ${seed}`)).toEqual(['full 1', 'full 2', 'swap 1', 'swap 2']);
    for (const { elapsedMs, createdAt, curve, iterations, evaluation } of results) {
      expect([elapsedMs, createdAt]).toEqual([0, '']);
      expect(curve?.turns.length ?? 0).toBe(iterations);
      expect(evaluation.long.episodes).toBe(16);
    }
  });

  test('two shards at once and collect give the bytes of one run', async () => {
    const both = await Promise.all([experiment('shards', '--shard', '1/2'), experiment('shards', '--shard', '2/2')]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(both.map((ended) => last(ended)?.ran)).toEqual([2, 2]);
    expect(await bundle('shards')).toBe(whole);
  });

  test('killed without notice, it goes on and ends with the same bytes; finished cells are not run again', async () => {
    const words = ['experiment', file, ...part, '--out', at('killed')];
    const killed = await runLab(program, words, process.env, 1, 'SIGKILL');
    expect(killed.code).toBeNull();
    for (const name of readdirSync(at('killed')).filter((n) => n.endsWith('.json')))
      JSON.parse(readFileSync(join(at('killed'), name), 'utf8')); // whole files only
    const again = await experiment('killed');
    expect(again.code, again.stderr).toBe(0);
    expect(Number(last(again)?.found)).toBeGreaterThanOrEqual(1);
    expect(Number(last(again)?.found) + Number(last(again)?.ran)).toBe(cells);
    expect(readdirSync(at('killed')).filter((name) => /running|partial/.test(name))).toEqual([]);
    expect(await bundle('killed')).toBe(whole);
  });

  test('interrupted, it ends with 130 and leaves no claim', async () => {
    const words = ['experiment', file, ...part, '--out', at('stopped')];
    const stopped = await runLab(program, words, process.env, 1, 'SIGINT');
    expect(stopped.code, stopped.stderr).toBe(130);
    expect(readdirSync(at('stopped')).filter((name) => /running|partial/.test(name))).toEqual([]);
  });

  test('a corrupted result is named, set aside and redone; collect names it, too', async () => {
    const name = readdirSync(at('shards')).find((n) => n.includes('swap--seed-2') && n.endsWith('.json'))!;
    const path = join(at('shards'), name);
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, 100));
    const collected = await lab('collect', at('shards'), '--json');
    expect(collected.stderr).toContain(name);
    expect(last(collected)).toMatchObject({ cells: 3, ignored: 1 });
    const again = await experiment('shards');
    expect(again.stderr).toContain(`${name}.bad-1`);
    expect(last(again)).toMatchObject({ ran: 1, found: 3 });
    expect(existsSync(`${path}.bad-1`)).toBe(true);
    expect(await bundle('shards')).toBe(whole);
  });

  test('cells of an experiment that was changed are named and left out', async () => {
    const changed = { ...JSON.parse(readFileSync(file, 'utf8')) };
    changed.arms[0].config = { clip: 0.3 };
    writeFileSync(at('changed.json'), JSON.stringify(changed));
    const ended = await lab('collect', at('whole'), '--experiment', at('changed.json'), '--json');
    expect(last(ended)).toMatchObject({ cells: 0, ignored: cells });
    expect(ended.stderr).toMatch(/full--seed-1.*not a cell/);
  });
});

/** The same episodes, none solved. */
const unsolved = ({ byCompactions, successNeedingCompaction: share, ...summary }: EvalSummary): EvalSummary => ({
  ...summary,
  success: 0,
  byCompactions: byCompactions.map((bucket) => ({ ...bucket, solved: 0 })),
  successNeedingCompaction: share === null ? null : 0,
});

describe('lab verify', () => {
  const verify = (name: string, text: string, ...more: string[]) => {
    writeFileSync(at(name), text);
    return lab('verify', at(name), ...more);
  };

  test('passes on what was just recorded, cells that need a policy included', async () => {
    const ended = await verify('good.json', whole, '--arms', '2');
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.lines.slice(0, -1).map(({ verdict }) => verdict)).toEqual(['identical', 'identical']);
  });

  test('fails on a number that was changed, and names it', async () => {
    const tampered = JSON.parse(whole) as { cells: { evaluation: { comp: { meanTurns: number } } }[] };
    for (const { evaluation } of tampered.cells) evaluation.comp.meanTurns += 0.001;
    const ended = await verify('tampered.json', JSON.stringify(tampered), '--arms', '1');
    expect(ended.code).toBe(1);
    expect(ended.lines[0]).toMatchObject({ verdict: 'different' });
    expect(ended.stderr).toMatch(/evaluation\.comp\.meanTurns: recorded .*, got /);
  });

  test('of another machine, it judges by the spread between seeds', async () => {
    const elsewhere = JSON.parse(whole) as { cells: { adapter: string; evaluation: { comp: EvalSummary } }[] };
    for (const cell of elsewhere.cells) cell.adapter = 'another';
    const near = await verify('near.json', JSON.stringify(elsewhere), '--arms', '1');
    // Numbers that are equal all the same are called so.
    expect(near.lines[0]).toMatchObject({ verdict: 'identical', ok: true });
    // Two recorded seeds that agree: the new value is at fault, whoever judges.
    for (const { evaluation } of elsewhere.cells) evaluation.comp = unsolved(evaluation.comp);
    const far = await verify('far.json', JSON.stringify(elsewhere), '--arms', '1');
    expect(far.code).toBe(1);
    expect(far.lines[0]).toMatchObject({ verdict: 'outside', ok: false });
    expect(far.stderr).toMatch(/evaluation\.comp\.success: the new .* is outside the prediction interval/);
  });
});
