import { describe, expect, test, vi } from 'vitest';
import { cutObservation, decode, encode } from '../../src/core/tokenizer/tokenizer';
import { families, familyOf, generateTask } from '../../src/env/tasks';
import { runLab } from '../../src/headless/lab';

vi.setConfig({ testTimeout: 60_000 }); // seconds on an idle machine; other suites run beside this one

/** Runs `lab tasks …`; stdout as parsed lines. */
async function lab(line: string, signal = new AbortController().signal) {
  let stdout = '';
  let stderr = '';
  const code = await runLab(['tasks', ...line.split(' ').filter(Boolean)], {
    signal,
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
    async *lines() {},
  });
  const lines = stdout.split('\n').filter(Boolean);
  return { code, stderr, lines: lines.map((text) => JSON.parse(text)) };
}

describe('lab tasks', () => {
  test.each(['', 'list'])('"%s" prints one line per family', async (line) => {
    const { code, lines, stderr } = await lab(line);
    expect([code, stderr]).toEqual([0, '']);
    expect(lines.map((family) => family.name)).toEqual(families.map((family) => family.name));
    for (const { name, suite, summary, minDifficulty, maxDifficulty, commands } of lines) {
      expect(familyOf(name)).toMatchObject({ suite, summary, minDifficulty, maxDifficulty });
      expect(commands).toContain('cat');
    }
  });

  test('show prints the instance a run would draw, with its tokens', async () => {
    const { code, lines } = await lab('show terminal --difficulty 3 --seed 5 --index 7 --split eval');
    expect(code).toBe(0);
    const request = {
      tasks: 'terminal',
      seed: 5,
      split: 'eval',
      index: 7,
      difficultyMin: 3,
      difficultyMax: 3,
    } as const;
    const { family, files, instruction, data } = generateTask(request);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      family,
      difficulty: 3,
      split: 'eval',
      index: 7,
      files,
      instruction,
      solution: data,
    });
    const [name, content] = Object.entries(files)[1]!;
    expect(lines[0].tokens.files[name]).toBe(encode(content).length);
    expect(lines[0].tokens.instruction).toBe(encode(instruction).length);
  });

  test('expert: outputs are the shell’s own, and the context is the sum of what it holds', async () => {
    const { code, lines } = await lab('expert chain --preset quick --difficulty 5 --split eval --index 2');
    expect(code).toBe(0);
    const [task, ...rest] = lines;
    const done = rest.pop();
    const steps = rest.filter((line) => 'step' in line);
    const compactions = rest.filter((line) => 'compaction' in line);
    expect(task).toMatchObject({ family: 'chain', difficulty: 5, window: 64, contextTokens: 4 });
    expect(done).toMatchObject({ done: true, solved: true, stop: 'solved', reward: 1, turns: 6 });
    expect([steps.length, compactions.length]).toEqual([done.turns, done.compactions]);
    expect(compactions.length).toBe(task.compactionsRequired);
    const { files } = generateTask({
      tasks: 'chain',
      seed: 0,
      split: 'eval',
      index: 2,
      difficultyMin: 5,
      difficultyMax: 5,
    });
    for (const { command, output } of steps.slice(0, -1)) expect(output).toBe(files[command.replace('cat ', '')]);
    let context: number = task.contextTokens;
    for (const line of rest) {
      if ('compaction' in line) {
        expect(line.tokensBefore).toBe(context + 1 + line.summaryTokens); // the request, then the summary
        expect(line.factsKept).toBe(line.factsNeeded);
        context = line.tokensAfter;
      } else {
        context += 1 + line.commandTokens + line.outputTokens; // the prompt, the command, what it printed
        expect(line.contextTokens).toBe(context);
      }
      expect(context).toBeLessThanOrEqual(task.window);
    }
  });

  test('expert: the settings change the context rules', async () => {
    const { lines } = await lab('expert repair --difficulty 5 --set compaction=none');
    expect(lines.at(-1)).toMatchObject({ done: true, solved: false, stop: 'window-full', compactions: 0 });
    const wide = await lab('expert repair --difficulty 5 --set window=400');
    expect(wide.lines.at(-1)).toMatchObject({ solved: true, compactions: 0 });
  });

  test('by default every family’s hardest task is solved over compactions, without a cut observation', async () => {
    for (const { name, maxDifficulty } of families) {
      const { lines } = await lab(`expert ${name} --difficulty ${maxDifficulty}`);
      expect(lines.at(-1)).toMatchObject({ solved: true });
      expect(lines.at(-1).compactions).toBeGreaterThanOrEqual(2);
      const outputs = lines.filter((line) => 'step' in line).map((line) => line.output);
      // 14: the observation cap, one of it for the next prompt.
      for (const output of outputs) expect(decode(cutObservation(encode(output), 13))).toBe(output);
    }
  });

  test('chance: the same for a preset and for its settings', async () => {
    const preset = await lab('chance quick --tasks 12 --seed 3');
    expect(preset.lines).toHaveLength(1);
    expect(preset.lines[0]).toMatchObject({ source: 'quick', tasks: 12, seed: 3, expert: 1, random: 0 });
    expect(preset.lines[0].chanceFloor).toBeLessThan(preset.lines[0].expert);
    const spelled = await lab(
      'chance chain --tasks 12 --seed 3 --set window=64 --set actionCap=8 --set summaryCap=10 --set difficultyMin=1',
    );
    expect(spelled.lines[0]).toEqual({ ...preset.lines[0], source: 'chain' });
  });

  test.each([
    ['shoe', 2, /no such action: expected list \| show \| expert \| chance, got shoe/],
    ['list chain', 2, /Too many arguments/],
    ['list --seed 1', 2, /no such flag: .*got --seed/],
    ['show', 2, /Missing family or suite/],
    ['show chian', 2, /expected terminal \| code \| chain .* got chian/],
    ['show collect --difficulty 7', 2, /--difficulty: expected a whole number from 1 to 6, got "7"/],
    ['show chain --split test', 2, /--split: expected train \| eval, got test/],
    ['show chain --seed 1.5', 2, /seed/],
    ['show chain --set window=64', 2, /got --set/],
    ['expert chain --preset quik', 2, /quik.*Did you mean "quick"/],
    ['expert chain --set window=20', 2, /window/],
    ['expert chain --set windw=64', 2, /Unknown configuration key "windw"/],
    ['chance chian', 2, /expected smoke .* chain .* got chian/],
    ['chance quick --tasks 0', 2, /--tasks/],
  ])('%s: one line on stderr, nothing on stdout', async (line, code, message) => {
    const answer = await lab(line);
    expect(answer.stderr).toMatch(message);
    expect(answer.stderr.trimEnd()).not.toContain('\n');
    expect([answer.code, answer.lines]).toEqual([code, []]);
  });

  test('an interrupt ends it', async () => {
    const { code, lines } = await lab('chance quick', AbortSignal.abort());
    expect(code).toBe(1);
    expect(lines).toEqual([]);
  });
});
