/** The folder of cells and the sweep over it, with a runner that computes nothing: who runs what, and what is on disk. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Cell, cellsOf } from '../../src/core/experiment/cells';
import type { CellResult } from '../../src/core/experiment/experiment';
import { CellFolder } from '../../src/headless/experiment/cell-folder';
import { takeClaim } from '../../src/headless/experiment/claim';
import { sweep } from '../../src/headless/experiment/sweep';
import { initialParameters } from '../../src/model/initialise';
import { writeModel } from '../../src/run/session/model-file';
import { sampleExperiment, sampleResult } from './experiment-samples';

const shape = { vocabulary: 8, dModel: 4, layers: 1, heads: 1, mlp: 4, positions: 4, previousToken: true };
const policy = writeModel(shape, initialParameters(shape, 1, { copyInit: 0 }), {});

let path: string;
let notes: string[];
let folder: CellFolder;
let cells: Cell[];
beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), 'sweep-'));
  notes = [];
  folder = new CellFolder(path, (text) => notes.push(text));
  cells = await cellsOf(sampleExperiment, { seeds: [1, 2], setups: ['small'] });
  await folder.prepare(sampleExperiment);
});
afterEach(() => rmSync(path, { recursive: true, force: true }));

const resultOf = (cell: Cell): CellResult => ({
  ...sampleResult,
  arm: cell.arm.id,
  setup: cell.setup.id,
  seed: cell.seed,
  hash: cell.hash,
});

/** Runs the sweep. @returns names of the cells that were computed, in order */
async function run({
  stopAfter = Number.POSITIVE_INFINITY,
  to = folder,
  list = cells,
  replaced = '',
  meanwhile = async (_: Cell) => {},
} = {}) {
  const ran: string[] = [];
  const controller = new AbortController();
  const report = await sweep({
    cells: list,
    folder: to,
    signal: controller.signal,
    pollMs: 5,
    requireReady: async () => {},
    onProgress: () => {},
    onOutdated: ({ name }) => notes.push(`outdated ${name}`),
    onDone: () => {
      if (ran.length >= stopAfter) controller.abort();
    },
    bases: { isOutdated: async (_, { base }) => base !== undefined && base === replaced },
    runner: {
      run: async (cell) => {
        for (const needed of cell.dependsOn) expect(await to.load(needed.name)).not.toBeNull();
        ran.push(cell.name);
        await meanwhile(cell);
        if (cell.policy === 'train') await to.save(cell.name, policy);
        return resultOf(cell);
      },
    },
  });
  return { ran, report };
}

test('recorded results are taken over: only what they lack runs, and a policy that is needed is trained again', async () => {
  const { ran } = await run();
  const recorded = await Promise.all(cells.map((cell) => folder.readResult(cell)));
  const other = new CellFolder(mkdtempSync(join(tmpdir(), 'sweep-')), (text) => notes.push(text));
  try {
    await other.prepare(sampleExperiment);
    const elsewhere = { ...recorded[0]!, hash: '0'.repeat(16) };
    expect(await other.adopt(cells, [elsewhere, ...recorded.slice(1)])).toBe(cells.length - 1);
    expect(await other.adopt(cells, recorded.slice(1))).toBe(0);
    expect((await run({ to: other })).ran).toEqual([ran[0]]);
    expect(await other.readResult(cells[1]!)).toEqual(recorded[1]);
  } finally {
    rmSync(other.path, { recursive: true, force: true });
  }
});

const names = () => cells.map(({ name }) => name);
const file = (cell: Cell | undefined, extension = 'json') => join(path, `${cell?.name}.${extension}`);
const byArm = (id: string) => cells.find(({ arm }) => arm.id === id);

describe('sweep', () => {
  test('runs every cell in order, and nothing the second time', async () => {
    expect(await run()).toEqual({ ran: names(), report: { ran: cells.length, found: 0, open: 0 } });
    expect(await run()).toEqual({ ran: [], report: { ran: 0, found: cells.length, open: 0 } });
    expect(readdirSync(path).filter((name) => !/\.(json|safetensors)$/.test(name))).toEqual([]);
    for (const cell of cells) expect(await folder.result(cell)).toEqual(resultOf(cell));
    expect(await folder.experiment()).toEqual(sampleExperiment);
  });

  test('goes on where it was broken off', async () => {
    const first = await run({ stopAfter: 3 });
    expect(first.report).toEqual({ ran: 3, found: 0, open: cells.length - 3 });
    expect((await run()).ran).toEqual(names().slice(3));
  });

  test('a cell that is aborted leaves neither result nor claim', async () => {
    const controller = new AbortController();
    const report = await sweep({
      cells,
      folder,
      signal: controller.signal,
      requireReady: async () => {},
      onProgress: () => {},
      onOutdated: () => {},
      onDone: () => {},
      bases: { isOutdated: async () => false },
      runner: {
        run: async () => {
          controller.abort();
          return null;
        },
      },
    });
    expect(report).toEqual({ ran: 0, found: 0, open: cells.length });
    expect(readdirSync(path)).toEqual(['experiment.json']);
  });

  test('a cell that throws leaves neither result nor claim', async () => {
    const meanwhile = async () => Promise.reject(new Error('no device'));
    await expect(run({ meanwhile })).rejects.toThrow('no device');
    expect(readdirSync(path)).toEqual(['experiment.json']);
  });

  test.each([
    ['no JSON', '{"version":1,', /not JSON/],
    ['no result', '{"version":1}', /Bad result/],
    [
      'numbers that contradict each other',
      () => readFileSync(file(byArm('full')), 'utf8').replace('"success":0.75', '"success":0.875'),
      /contradict each other.*evaluation\.comp\.success/,
    ],
    ['the result of another cell', () => readFileSync(file(byArm('masked')), 'utf8'), /another cell/],
  ])('a file that holds %s is named, set aside and redone', async (_what, content, message) => {
    await run();
    const damaged = file(byArm('full'));
    const good = readFileSync(damaged, 'utf8');
    const bad = typeof content === 'string' ? content : content();
    for (const k of [1, 2]) {
      writeFileSync(damaged, bad);
      notes.length = 0;
      expect((await run()).ran).toEqual([byArm('full')?.name]);
      expect(notes.join()).toMatch(message);
      expect(notes.join()).toContain(`${damaged}.bad-${k}`);
      expect(readFileSync(`${damaged}.bad-${k}`, 'utf8')).toBe(bad);
      expect(readFileSync(damaged, 'utf8')).toBe(good);
    }
  });

  test('a missing or damaged policy is made again only where a cell needs it', async () => {
    await run();
    const [full, swap] = [byArm('full'), byArm('swap')];
    rmSync(file(full, 'safetensors'));
    expect((await run()).ran).toEqual([]);
    rmSync(file(swap));
    expect((await run()).ran).toEqual([full?.name, swap?.name]);
    rmSync(file(swap));
    writeFileSync(file(full, 'safetensors'), 'x');
    expect((await run()).ran).toEqual([full?.name, swap?.name]);
    expect(existsSync(`${file(full, 'safetensors')}.bad-1`)).toBe(true);
  });

  test('a cell from a base that was replaced runs again, and so do the cells that need its policy', async () => {
    await run();
    const [full, swap] = [byArm('full'), byArm('swap')];
    for (const cell of [full, swap]) {
      const old = { ...JSON.parse(readFileSync(file(cell), 'utf8')), base: '0123456789abcdef' };
      writeFileSync(file(cell), JSON.stringify(old));
    }
    expect((await run()).ran).toEqual([]);
    const again = await run({ replaced: '0123456789abcdef' });
    expect(again.ran).toEqual([full?.name, swap?.name]);
    expect(notes.filter((note) => note.startsWith('outdated')).sort()).toEqual(
      [full, swap].map((cell) => `outdated ${cell?.name}`).sort(),
    );
  });

  test('what a killed process left goes, what a living one writes or holds stays', async () => {
    const dead = spawnSync(process.execPath, ['-e', '']).pid;
    const [gone, stays] = [`a.json.${dead}.partial`, `a.json.${process.pid}.partial`];
    for (const name of [gone, stays]) writeFileSync(join(path, name), '{');
    // Claims, too: killed between a result and the end of its claim, nobody asks for that claim again.
    for (const pid of [dead, process.pid])
      writeFileSync(join(path, `${pid}.running`), JSON.stringify({ pid, host: hostname() }));
    // A killed process that had this one's number before.
    const held = await takeClaim(join(path, 'held.running'));
    await folder.prepare(sampleExperiment);
    expect(readdirSync(path).sort()).toEqual([stays, 'held.running', 'experiment.json'].sort());
    await held?.();
  });

  test('two processes share a folder: each cell is computed once, and dependencies are waited for', async () => {
    // Two sweeps in one process take turns at every await, as two processes would.
    const meanwhile = () => new Promise<void>((resolve) => setTimeout(resolve, 3));
    const [a, b] = await Promise.all([run({ meanwhile }), run({ meanwhile })]);
    expect([...a.ran, ...b.ran].sort()).toEqual(names().sort());
    expect(a.ran.length).toBeGreaterThan(0);
    expect(b.ran.length).toBeGreaterThan(0);
  });
});

describe('claims', () => {
  const claim = () => join(path, 'x.running');

  test('one holder at a time', async () => {
    const release = await takeClaim(claim());
    expect(release).not.toBeNull();
    expect(await takeClaim(claim())).toBeNull();
    await release?.();
    expect(await takeClaim(claim())).not.toBeNull();
  });

  test('a process of another machine counts as alive', async () => {
    writeFileSync(claim(), JSON.stringify({ pid: 1, host: `not-${hostname()}` }));
    expect(await takeClaim(claim())).toBeNull();
  });

  test('a dead holder, and one that died while it wrote, lose the claim to exactly one', async () => {
    const dead = spawnSync(process.execPath, ['-e', '']).pid;
    for (const content of [
      JSON.stringify({ pid: dead, host: hostname() }),
      JSON.stringify({ pid: process.pid, host: hostname() }),
      '',
    ]) {
      writeFileSync(claim(), content);
      utimesSync(claim(), 0, 0);
      const taken = await Promise.all([takeClaim(claim()), takeClaim(claim()), takeClaim(claim())]);
      expect(taken.filter((release) => release !== null)).toHaveLength(1);
      await taken.find((release) => release !== null)!();
    }
    expect(readdirSync(path)).toEqual(['experiment.json']);
  });

  test('a claim that its holder is just writing is respected', async () => {
    writeFileSync(claim(), '');
    expect(await takeClaim(claim())).toBeNull();
  });

  test('a folder that is not there is an error, not a claim held by others', async () => {
    await expect(takeClaim(join(path, 'no', 'x.running'))).rejects.toThrow(/nothing at that path/);
  });
});
