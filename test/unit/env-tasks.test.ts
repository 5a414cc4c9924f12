import { describe, expect, test, vi } from 'vitest';
import { RandomStream } from '../../src/core/rng';
import { cutObservation, decode, encode } from '../../src/core/tokenizer/tokenizer';
import { lossySummary } from '../../src/env/demonstration';
import { restatedFacts } from '../../src/env/facts';
import type { TaskInstance } from '../../src/env/task';
import { families, familyOf, generateTask } from '../../src/env/tasks';
import { Terminal } from '../../src/env/terminal';

vi.setConfig({ testTimeout: 60_000 }); // seconds on an idle machine; other suites run beside this one

const OBSERVATION_CAP = 14;
const cases = families.flatMap((family) =>
  Array.from({ length: family.maxDifficulty - family.minDifficulty + 1 }, (_, i) => ({
    family: family.name,
    difficulty: family.minDifficulty + i,
  })),
);

function instanceOf(
  family: string,
  difficulty: number,
  index: number,
  split: 'train' | 'eval' = 'train',
): TaskInstance {
  return generateTask({ tasks: family, seed: 7, split, index, difficultyMin: difficulty, difficultyMax: difficulty });
}

const openTerminal = (instance: TaskInstance) =>
  Terminal.open({ files: instance.files, commands: instance.commands, seed: 7, stream: instance.index, shell: 2 });

/** Runs the expert; `summarise` is called every `every` turns with the facts and its answer is all that is remembered. */
async function runExpert(
  instance: TaskInstance,
  options: { keepTask?: boolean; every?: number; summarise?: (facts: string[]) => string } = {},
) {
  const { keepTask = true, every = Number.POSITIVE_INFINITY, summarise = (facts) => facts.join(' ') } = options;
  const family = familyOf(instance.family);
  const tracker = family.tracker(instance, { keepTask });
  const terminal = await openTerminal(instance);
  const trace: { command: string; output: string }[] = [];
  let turns = 0;
  for (let exited = false; !exited && turns < 4 * instance.minTurns; ) {
    const command = tracker.next();
    const result = await terminal.run(command);
    const output = decode(cutObservation(encode(result.output), OBSERVATION_CAP));
    trace.push({ command, output });
    tracker.observe(command, output);
    exited = result.exited;
    turns++;
    if (turns % every === 0) tracker.resume(summarise(tracker.facts()));
  }
  terminal.home();
  return { score: await family.verify(instance, terminal), turns, trace };
}

describe.each(cases)('$family, difficulty $difficulty', ({ family, difficulty }) => {
  const indices = [0, 1, 2, 3, 4];

  test('the expert with perfect memory solves it in exactly minTurns', async () => {
    for (const index of indices) {
      const instance = instanceOf(family, difficulty, index);
      expect(await runExpert(instance)).toMatchObject({ score: 1, turns: instance.minTurns });
    }
  });

  test('nothing is lost over complete summaries, after every turn, with and without the task restated', async () => {
    for (const keepTask of [true, false]) {
      const instance = instanceOf(family, difficulty, 1);
      const random = new RandomStream(1, 'test', difficulty);
      const summarise = (facts: string[]) => lossySummary(facts, random, { keep: 1, junkMax: 4 });
      const ended = await runExpert(instance, { keepTask, every: 1, summarise });
      expect(ended).toMatchObject({ score: 1, turns: instance.minTurns });
    }
  });

  test('doing nothing scores 0', async () => {
    const instance = instanceOf(family, difficulty, 2);
    expect(await familyOf(family).verify(instance, await openTerminal(instance))).toBe(0);
  });

  test('commands, observations and instructions stay within the caps', async () => {
    for (const index of indices) {
      const instance = instanceOf(family, difficulty, index);
      const { trace } = await runExpert(instance);
      for (const { command, output } of trace) {
        expect(output).not.toContain('⟨trunc⟩');
        expect(encode(output).length).toBeLessThanOrEqual(OBSERVATION_CAP);
        // eoc included; only collect's answer grows with the number of files
        expect(encode(command).length + 1).toBeLessThanOrEqual(family === 'collect' ? 5 + Math.max(3, difficulty) : 8);
      }
    }
  });
});

describe('what the tasks demand', () => {
  // At these difficulties an expert without memory needs more than 4 × minTurns or fails.
  test.each([
    ['chain', 6],
    ['collect', 6],
    ['manifest', 6],
    ['repair', 5],
  ])('%s: forgetting everything every third turn fails', async (family, difficulty) => {
    for (const index of [0, 1, 2]) {
      const ended = await runExpert(instanceOf(family, difficulty, index), { every: 3, summarise: () => '' });
      expect(ended.score).toBeLessThan(1);
    }
  });

  test.each(['chain', 'collect', 'manifest', 'repair'])(
    '%s: lossy summaries cost turns or the task',
    async (family) => {
      const random = new RandomStream(3, 'test', 1);
      let lost = 0;
      for (let index = 0; index < 12; index++) {
        const instance = instanceOf(family, 5, index);
        const summarise = (facts: string[]) => lossySummary(facts, random, { keep: 0.6 });
        const { score, turns } = await runExpert(instance, { every: 2, summarise });
        if (score < 1 || turns > instance.minTurns) lost++;
      }
      expect(lost).toBeGreaterThan(6);
    },
  );

  test('repair: overwriting a file, or the checks, does not pass', async () => {
    const instance = instanceOf('repair', 1, 0);
    const { path } = instance.data as { path: { name: string; wanted: string }[] };
    const terminal = await openTerminal(instance);
    await terminal.run(`echo ${path[0]!.name} is ${path[0]!.wanted} > ${path[0]!.name}`);
    await terminal.run('echo exit > test.sh');
    expect(await terminal.run('sh test.sh')).toMatchObject({ exitCode: 0 });
    expect(await familyOf('repair').verify(instance, terminal)).toBeLessThan(1);
  });

  test('chain: the right values in the wrong shape do not pass', async () => {
    const instance = instanceOf('chain', 3, 0);
    const { code, end } = instance.data as { code: string; end: string };
    for (const command of [
      `echo ${code} > out; echo ${end} >> out`,
      `echo ${end} ${code} > out`,
      `echo ${code} > out`,
    ]) {
      const terminal = await openTerminal(instance);
      await terminal.run(command);
      expect(await familyOf('chain').verify(instance, terminal)).toBeLessThan(1);
    }
  });

  test('manifest: moving a bystander spoils it', async () => {
    const instance = instanceOf('manifest', 1, 0);
    const { bystanders } = instance.data as { bystanders: string[] };
    const terminal = await openTerminal(instance);
    const tracker = familyOf('manifest').tracker(instance, { keepTask: true });
    await terminal.run(`mv ${bystanders[0]} elsewhere`);
    for (let i = 0; i < instance.minTurns; i++) {
      const command = tracker.next();
      tracker.observe(command, (await terminal.run(command)).output);
    }
    expect(await familyOf('manifest').verify(instance, terminal)).toBe(0);
  });

  test.each(families.map((f) => f.name))('%s: globs show nothing useful', async (family) => {
    const instance = instanceOf(family, 2, 0);
    const terminal = await openTerminal(instance);
    for (const command of ['cat *', 'cat ?*', 'echo *']) {
      const seen = decode(cutObservation(encode((await terminal.run(command)).output), OBSERVATION_CAP));
      const tracker = familyOf(family).tracker(instance, { keepTask: true });
      tracker.observe(command, seen);
      expect(tracker.facts()).toEqual([]);
    }
    for (const command of ['ls', 'grep -r code .', 'find .', 'head about', 'tail about', 'awk 1 about']) {
      expect((await terminal.run(command)).output).toBe(`bash: ${command.split(' ')[0]}: command not found\n`);
    }
  });
});

describe('generateTask', () => {
  const request = { tasks: 'terminal', seed: 3, split: 'train', index: 5, difficultyMin: 1, difficultyMax: 8 } as const;

  test('is a function of the request', () => {
    expect(generateTask(request)).toEqual(generateTask(request));
    expect(generateTask({ ...request, index: 6 })).not.toEqual(generateTask(request));
    expect(generateTask({ ...request, seed: 4 })).not.toEqual(generateTask(request));
    expect(structuredClone(generateTask(request))).toEqual(generateTask(request));
  });

  test('train and held-out instances never coincide, over different seeds and at the smallest difficulty', () => {
    const contents = (split: 'train' | 'eval', seed: number) =>
      Array.from({ length: 2000 }, (_, index) => {
        const task = generateTask({ tasks: 'chain', seed, split, index, difficultyMin: 1, difficultyMax: 1 });
        return JSON.stringify([task.instruction, task.data]);
      });
    const train = new Set(contents('train', 1));
    // 36 · 32 · 31 contents: 2,000 draws of each would share over 100 if the splits were not separated.
    expect(contents('eval', 2).filter((content) => train.has(content))).toEqual([]);
  });

  test('mixes families and difficulties, clamped to each family', () => {
    const tasks = Array.from({ length: 300 }, (_, index) => generateTask({ ...request, index }));
    const count = (key: (t: TaskInstance) => string | number) => new Set(tasks.map(key)).size;
    expect(count((t) => t.family)).toBe(3);
    expect(count((t) => `${t.family} ${t.difficulty}`)).toBe(8 + 6 + 6);
  });

  test('names what is wrong', () => {
    expect(() => generateTask({ ...request, tasks: 'chian' })).toThrow(/chian/);
    expect(() => generateTask({ ...request, difficultyMin: 3, difficultyMax: 2 })).toThrow(/min ≤ max/);
    expect(() => generateTask({ ...request, difficultyMin: Number.NaN })).toThrow(/NaN/);
  });
});

describe('facts', () => {
  test('are restated only word for word', () => {
    const facts = ['code ruby', 'next lamp'];
    expect(restatedFacts(facts, 'warm next lamp code ruby')).toEqual(facts);
    expect(restatedFacts(facts, 'code next lamp ruby')).toEqual(['next lamp']);
    expect(restatedFacts(facts, 'code red; next⟨sum⟩lamp')).toEqual([]);
    expect(restatedFacts(facts, '')).toEqual([]);
  });

  test('a wrong value is not knowledge', () => {
    const instance = instanceOf('chain', 4, 0);
    const { path, code } = instance.data as { path: string[]; code: string };
    const tracker = familyOf('chain').tracker(instance, { keepTask: true });
    tracker.observe(`cat ${path[0]}`, instance.files[path[0]!]!);
    expect(tracker.facts()).toEqual([`code ${code}`, `next ${path[1]}`]);
    tracker.resume(`code ${code === 'red' ? 'blue' : 'red'} next ${path[1]}`);
    expect(tracker.facts()).toEqual([`next ${path[1]}`]);
    expect(tracker.next()).toBe(`cat ${path[0]}`);
  });

  test('lossy summaries keep the stated share, in random order, within the token cap', () => {
    const random = new RandomStream(5, 'test', 0);
    const facts = ['code ruby', 'end jade', 'next lamp'];
    const texts = Array.from({ length: 2000 }, () => lossySummary(facts, random, { keep: 0.7, maxTokens: 6 }));
    const kept = texts.reduce((sum, text) => sum + restatedFacts(facts, text).length, 0);
    // Binomial, n = 6,000, p = 0.7: standard deviation 0.006; five of them.
    expect(Math.abs(kept / 6000 - 0.7)).toBeLessThan(0.03);
    expect(new Set(texts).size).toBeGreaterThan(20);
    expect(Math.max(...texts.map((text) => encode(text).length))).toBeLessThanOrEqual(6);
    expect(lossySummary(facts, random, { keep: 1, junkMax: 0, maxTokens: 3 }).split(' ')).toHaveLength(3);
  });
});
