import type { RandomStream } from '../../core/rng';
import { namePool, valuePool } from '../../core/tokenizer/vocabulary';
import { contains, wordAfter, wordsOf } from '../facts';
import type { TaskDraft, TaskFamily, TaskInstance, TaskTracker, TrackerOptions } from '../task';
import { ABOUT, aboutFile, noisyLine } from './noise';

interface ChainData {
  /** Files in reading order. */
  readonly path: readonly string[];
  readonly code: string;
  readonly end: string;
}

/** Decoy chains look like the real one from its second file on; a random `cat` cannot tell them apart. */
const DECOY_CHAINS = 3;
const DECOY_FILES = 12;

function generate(random: RandomStream, difficulty: number): TaskDraft {
  const names = random.sample(namePool, difficulty + DECOY_FILES);
  const path = names.slice(0, difficulty);
  const [code, end, ...decoyEnds] = random.sample(valuePool, 2 + DECOY_CHAINS) as [string, string, ...string[]];
  const files: Record<string, string> = { [ABOUT]: aboutFile(random) };
  const tail = (chain: readonly string[], i: number, value: string) =>
    i + 1 < chain.length ? `next ${chain[i + 1]}` : `end ${value}`;
  path.forEach((name, i) => {
    files[name] = noisyLine(random, [...(i === 0 ? [`code ${code}`] : []), tail(path, i, end)]);
  });
  decoyEnds.forEach((value, d) => {
    const size = DECOY_FILES / DECOY_CHAINS;
    const chain = names.slice(difficulty + d * size, difficulty + (d + 1) * size);
    chain.forEach((name, i) => {
      files[name] = noisyLine(random, [tail(chain, i, value)]);
    });
  });
  const data: ChainData = { path, code, end };
  return { instruction: `follow ${path[0]}`, files, commands: ['cat', 'echo'], minTurns: difficulty + 1, data };
}

class ChainTracker implements TaskTracker {
  private code = false;
  private end = false;
  /** Index in `path` of the file the agent knows to read next; 0 is the instruction's. */
  private pointer = 0;
  private knowsTask = true;
  private readonly task: string;
  constructor(
    private readonly data: ChainData,
    instruction: string,
    private readonly options: TrackerOptions,
  ) {
    this.task = instruction;
  }
  observe(command: string, output: string): void {
    if (!command.startsWith('cat ')) return;
    const words = wordsOf(output);
    if (wordAfter(words, 'code') === this.data.code) this.code = true;
    if (wordAfter(words, 'end') === this.data.end) this.end = true;
    // The latest pointer wins: an agent that starts again follows the chain again.
    const seen = this.data.path.indexOf(wordAfter(words, 'next') ?? '', 1);
    if (seen > 0) this.pointer = seen;
  }
  facts(): string[] {
    const facts: string[] = [];
    if (!this.options.keepTask && this.knowsTask && !(this.code && this.end)) facts.push(this.task);
    if (this.code) facts.push(`code ${this.data.code}`);
    if (this.end) facts.push(`end ${this.data.end}`);
    else if (this.pointer > 0) facts.push(`next ${this.data.path[this.pointer]}`);
    return facts;
  }
  resume(summary: string): void {
    const words = wordsOf(summary);
    const pointer = this.pointer;
    this.code &&= contains(words, ['code', this.data.code]);
    this.end &&= contains(words, ['end', this.data.end]);
    this.pointer = pointer > 0 && contains(words, ['next', this.data.path[pointer]!]) ? pointer : 0;
    this.knowsTask = this.options.keepTask || (this.knowsTask && contains(words, wordsOf(this.task)));
  }
  next(): string {
    if (this.code && this.end) return this.answer(this.data.code, this.data.end);
    const restart = !this.code || this.pointer === 0;
    if (restart && !this.knowsTask) return 'exit';
    return `cat ${this.data.path[restart ? 0 : this.pointer]}`;
  }
  guess(random: RandomStream): string {
    const value = (known: boolean, truth: string) => (known ? truth : random.pick(valuePool));
    return this.answer(value(this.code, this.data.code), value(this.end, this.data.end));
  }
  private answer(code: string, end: string): string {
    return `echo ${code} ${end} > out; exit`;
  }
}

export const chain: TaskFamily = {
  name: 'chain',
  suite: 'terminal',
  summary:
    'Files lead from one to the next. The first holds a code, the last an end value; both go into `out`, so the code has ' +
    'to be remembered over all files and the pointer from file to file.',
  minDifficulty: 1,
  maxDifficulty: 8,
  generate,
  async verify(instance: TaskInstance, shell): Promise<number> {
    const { code, end } = instance.data as ChainData;
    const out = await shell.read('out');
    if (out === `${code} ${end}\n`) return 1;
    const [first, second] = wordsOf(out ?? '');
    return ((first === code ? 1 : 0) + (second === end ? 1 : 0)) / 3;
  },
  tracker: (instance, options) => new ChainTracker(instance.data as ChainData, instance.instruction, options),
  randomCommand: (_instance, random) =>
    random.integer(4) === 0
      ? `echo ${random.pick(valuePool)} ${random.pick(valuePool)} > out; exit`
      : `cat ${random.pick(namePool)}`,
};
