import type { RandomStream } from '../../core/rng';
import { namePool, valuePool } from '../../core/tokenizer/vocabulary';
import { contains, wordsOf } from '../facts';
import type { TaskDraft, TaskFamily, TaskTracker, TrackerOptions } from '../task';
import { ABOUT, aboutFile, noisyLine } from './noise';

interface CollectData {
  /** Files in the order of the answer. */
  readonly names: readonly string[];
  /** One value a file. */
  readonly values: readonly string[];
}

const DECOYS = 8;

function generate(random: RandomStream, difficulty: number): TaskDraft {
  const all = random.sample(namePool, difficulty + DECOYS);
  const names = all.slice(0, difficulty);
  const files: Record<string, string> = { [ABOUT]: aboutFile(random) };
  const values: string[] = [];
  for (const name of all) {
    const value = random.pick(valuePool);
    if (values.length < difficulty) values.push(value);
    files[name] = noisyLine(random, [`${name} ${value}`]);
  }
  const data: CollectData = { names, values };
  return {
    instruction: `collect ${names.join(' ')}`,
    files,
    commands: ['cat', 'echo'],
    minTurns: difficulty + 1,
    data,
  };
}

class CollectTracker implements TaskTracker {
  private knowsTask = true;
  private readonly known: boolean[];
  constructor(
    private readonly data: CollectData,
    private readonly instruction: string,
    private readonly options: TrackerOptions,
  ) {
    this.known = data.names.map(() => false);
  }
  private learn(words: readonly string[], i: number): boolean {
    return contains(words, [this.data.names[i]!, this.data.values[i]!]);
  }
  observe(command: string, output: string): void {
    if (!command.startsWith('cat ')) return;
    const words = wordsOf(output);
    this.data.names.forEach((_, i) => {
      if (this.learn(words, i)) this.known[i] = true;
    });
  }
  facts(): string[] {
    const pairs = this.data.names.map((name, i) => `${name} ${this.data.values[i]}`).filter((_, i) => this.known[i]);
    // The instruction also holds the order of the answer, so it stays needed to the end.
    return !this.options.keepTask && this.knowsTask ? [this.instruction, ...pairs] : pairs;
  }
  resume(summary: string): void {
    const words = wordsOf(summary);
    this.data.names.forEach((_, i) => {
      this.known[i] &&= this.learn(words, i);
    });
    this.knowsTask = this.options.keepTask || (this.knowsTask && contains(words, wordsOf(this.instruction)));
  }
  next(): string {
    if (!this.knowsTask) return 'exit';
    const missing = this.known.indexOf(false);
    return missing < 0 ? this.answer(this.data.values) : `cat ${this.data.names[missing]}`;
  }
  guess(random: RandomStream): string {
    return this.answer(this.data.values.map((value, i) => (this.known[i] ? value : random.pick(valuePool))));
  }
  private answer(values: readonly string[]): string {
    return `echo ${values.join(' ')} > out; exit`;
  }
}

export const collect: TaskFamily = {
  name: 'collect',
  suite: 'terminal',
  summary:
    'The instruction lists files; each holds one value among noise. All values go into `out`, in the order of the list, ' +
    'so every value has to be remembered until the end.',
  minDifficulty: 1,
  maxDifficulty: 6,
  generate,
  async verify(instance, shell): Promise<number> {
    const { values } = instance.data as CollectData;
    const out = await shell.read('out');
    if (out === `${values.join(' ')}\n`) return 1;
    const words = wordsOf(out ?? '');
    return values.filter((value, i) => words[i] === value).length / (values.length + 1);
  },
  tracker: (instance, options) => new CollectTracker(instance.data as CollectData, instance.instruction, options),
  randomCommand(instance, random) {
    if (random.integer(4) > 0) return `cat ${random.pick(namePool)}`;
    const values = (instance.data as CollectData).values.map(() => random.pick(valuePool));
    return `echo ${values.join(' ')} > out; exit`;
  },
};
