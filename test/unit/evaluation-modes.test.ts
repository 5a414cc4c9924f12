/** What an evaluation mode gives a player, played by the scripted expert in real shells; and where a base is read from. */
import { afterAll, describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/core/config/config';
import type { LabError } from '../../src/core/errors';
import { createTerminalPool } from '../../src/env/pool';
import { playScripted, requiredCompactions, setupOf } from '../../src/run/expert/expert';
import { presets } from '../../src/run/presets/presets';
import { drawTasks } from '../../src/run/rollout/tasks';
import { loadBase } from '../../src/run/session/session';
import { evalConfig } from '../../src/run/trainer/evaluate';

const config = parseConfig(presets.quick.config);
const gate = async () => {};
const pool = createTerminalPool({ workers: 0 });
afterAll(() => pool.close());

describe('evaluation modes', () => {
  const tasks = drawTasks(config, 7, 'eval', 0, 48);
  const solvedIn = async (mode: Parameters<typeof evalConfig>[1], from = config) => {
    const rules = evalConfig(from, mode);
    const rollouts = await playScripted(
      tasks.map((task) => setupOf(task, task.index, rules)),
      pool,
      gate,
    );
    return rollouts.map((r) => r.solved);
  };

  test('twice the window holds all that one window holds and more; compaction holds everything', async () => {
    const [single, long, comp] = [await solvedIn('single'), await solvedIn('long'), await solvedIn('comp')];
    const count = (solved: boolean[]) => solved.filter(Boolean).length;
    single.forEach((solved, i) => {
      if (solved) expect(long[i], `task ${i}`).toBe(true);
    });
    expect(count(single)).toBeGreaterThan(0);
    expect(count(long)).toBeGreaterThan(count(single));
    expect(count(comp)).toBe(tasks.length);
    expect(count(long)).toBeLessThan(count(comp));
  });

  test('an arm that trained without compaction is given summaries in comp, and training’s window changes no mode', async () => {
    const without = parseConfig({ ...presets.quick.config, compaction: 'none' });
    expect(await solvedIn('comp', without)).toEqual(await solvedIn('comp'));
    const wide = parseConfig({ ...presets.quick.config, trainWindowScale: 2 });
    expect([evalConfig(wide, 'comp').window, evalConfig(wide, 'single').window]).toEqual([64, 64]);
    expect(evalConfig(wide, 'long').window).toBe(128);
  });

  test('compactions required: 0 exactly where one window is enough; what is known is not asked again', async () => {
    const known = new Map<number, number>();
    const required = await requiredCompactions(tasks, config, pool, gate, known);
    expect(required.map((n) => n === 0)).toEqual(await solvedIn('single'));
    known.set(tasks[0]!.index, 99);
    expect((await requiredCompactions(tasks, config, pool, gate, known))[0]).toBe(99);
  });
});

describe('warm starts', () => {
  const askedFor = async (warmStart: number) => {
    const names: string[] = [];
    const config = parseConfig({ ...presets.quick.config, base: 'chain-small', warmStart });
    const error = await loadBase(config, 1, async (name) => {
      names.push(name);
      return null;
    }).then(
      () => null,
      (thrown: LabError) => thrown.parts,
    );
    return { names, error };
  };

  test('the first has the base’s name, later ones their number behind it', async () => {
    expect((await askedFor(1)).names).toEqual(['chain-small']);
    expect((await askedFor(3)).names).toEqual(['chain-small-3']);
  });

  test('a missing one is named, with the command that makes it', async () => {
    const { error } = await askedFor(3);
    expect(error).toMatchObject({ code: 'base.missing', where: 'bases/chain-small-3.safetensors' });
    expect(error!.fix).toContain('pretrain chain-small --warm-start 3');
    expect((await askedFor(1)).error!.fix).not.toContain('--warm-start');
  });
});
