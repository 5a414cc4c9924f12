import type { RandomStream } from '../../core/rng';
import { namePool, valuePool } from '../../core/tokenizer/vocabulary';
import { contains, wordAfter, wordsOf } from '../facts';
import type { TaskDraft, TaskFamily, TaskTracker, TrackerOptions } from '../task';
import { ABOUT, aboutFile, noisyLine } from './noise';

interface RepairFile {
  readonly name: string;
  /** The deprecated word in it and the word that the check wants instead. */
  readonly old: string;
  readonly wanted: string;
}
interface RepairData {
  /** Files in the order in which each leads to the next. */
  readonly path: readonly RepairFile[];
  /** The pristine checks; the verifier puts them back before it runs them. */
  readonly checks: string;
}

const DECOYS = 6;
const CHECKS = 'test.sh';

/**
 * `sh test.sh` prints `use old wanted …` for every file that is not exactly as it should be, and fails; or prints `ok`.
 * The order of the pairs is not the order of the files, and the output names no file.
 */
function checksOf(expected: readonly { file: RepairFile; content: string }[]): string {
  const lines = expected.map(
    ({ file, content }) => `[ "$(cat ${file.name})" = "${content.trimEnd()}" ] || w="$w ${file.old} ${file.wanted}"`,
  );
  return [`w=`, ...lines, `if [ "$w" ]; then echo "use$w"; exit 1; fi`, `echo ok`, ''].join('\n');
}

function generate(random: RandomStream, difficulty: number): TaskDraft {
  const names = random.sample(namePool, difficulty + DECOYS);
  const values = random.sample(valuePool, 2 * difficulty + DECOYS);
  const files: Record<string, string> = { [ABOUT]: aboutFile(random) };
  const path: RepairFile[] = [];
  const expected: { file: RepairFile; content: string }[] = [];
  for (let i = 0; i < difficulty; i++) {
    const file = { name: names[i]!, old: values[2 * i]!, wanted: values[2 * i + 1]! };
    const next = i + 1 < difficulty ? `next ${names[i + 1]}` : 'end';
    const content = noisyLine(random, [`${file.name} is ${file.old}`, next]);
    files[file.name] = content;
    path.push(file);
    expected.push({ file, content: content.replace(`is ${file.old}`, `is ${file.wanted}`) });
  }
  for (let i = 0; i < DECOYS; i++) {
    const name = names[difficulty + i]!;
    files[name] = noisyLine(random, [`${name} is ${values[2 * difficulty + i]}`, `next ${random.pick(names)}`]);
  }
  const checks = checksOf(random.shuffle(expected));
  files[CHECKS] = checks;
  const data: RepairData = { path, checks };
  return {
    instruction: `repair ${path[0]!.name}`,
    files,
    commands: ['cat', 'echo', 'sed', 'sh'],
    minTurns: 1 + 2 * difficulty,
    data,
  };
}

class RepairTracker implements TaskTracker {
  private knowsTask = true;
  /** Which replacements the agent knows. */
  private readonly rules: boolean[];
  /** Which files the agent has itself mended and knows so. Forgotten at a compaction. */
  private readonly mended: boolean[];
  /** File read and not yet mended; −1 for none. */
  private current = -1;
  /** Whether the checks were seen to pass. */
  private passed = false;
  /** File to read next; 0 is the instruction's; path.length when the last file has been read. */
  private pointer = 0;
  constructor(
    private readonly data: RepairData,
    private readonly instruction: string,
    private readonly options: TrackerOptions,
  ) {
    this.rules = data.path.map(() => false);
    this.mended = data.path.map(() => false);
  }
  private rule(i: number): string[] {
    return [this.data.path[i]!.old, this.data.path[i]!.wanted];
  }
  private place(i: number): string[] {
    return [this.data.path[i]!.name, 'is', this.data.path[i]!.old];
  }
  private pointerText(): string {
    return this.pointer < this.data.path.length ? `next ${this.data.path[this.pointer]!.name}` : 'end';
  }
  observe(command: string, output: string): void {
    const words = wordsOf(output);
    if (command.startsWith(`sh ${CHECKS}`)) {
      this.passed = words[0] === 'ok';
      this.data.path.forEach((_, i) => {
        if (contains(words, this.rule(i))) this.rules[i] = true;
      });
    } else if (command.startsWith('cat ')) {
      const read = this.data.path.findIndex((file) => contains(words, [file.name, 'is']));
      if (read < 0) return;
      this.current = contains(words, this.place(read)) ? read : -1;
      if (this.current < 0) this.mended[read] = true;
      const last = read === this.data.path.length - 1;
      if (last ? words.includes('end') : wordAfter(words, 'next') === this.data.path[read + 1]!.name)
        this.pointer = read + 1;
    } else if (command.startsWith('sed ')) {
      const fixed = this.data.path.findIndex((file) => command.startsWith(this.fix(file)));
      if (fixed < 0 || words.length > 0) return;
      this.mended[fixed] = true;
      if (this.current === fixed) this.current = -1;
    }
  }
  private fix(file: RepairFile): string {
    return `sed -i s/${file.old}/${file.wanted}/ ${file.name}`;
  }
  facts(): string[] {
    const facts = !this.options.keepTask && this.knowsTask ? [this.instruction] : [];
    if (this.current >= 0) facts.push(this.place(this.current).join(' '));
    if (this.passed) return ['ok'];
    if (this.pointer > 0) facts.push(this.pointerText());
    const rules = this.data.path.map((_, i) => i).filter((i) => this.rules[i] && !this.mended[i]);
    return [...facts, ...rules.map((i) => this.rule(i).join(' '))];
  }
  resume(summary: string): void {
    const words = wordsOf(summary);
    this.passed &&= words.includes('ok');
    this.data.path.forEach((_, i) => {
      this.rules[i] = this.rules[i]! && !this.mended[i] && contains(words, this.rule(i));
      this.mended[i] = false;
    });
    if (this.current >= 0 && !contains(words, this.place(this.current))) this.current = -1;
    if (this.pointer > 0 && !contains(words, wordsOf(this.pointerText()))) this.pointer = 0;
    this.knowsTask = this.options.keepTask || (this.knowsTask && contains(words, wordsOf(this.instruction)));
  }
  next(): string {
    const { path } = this.data;
    const atEnd = this.pointer === path.length;
    const open = path.map((_, i) => i).filter((i) => this.rules[i] && !this.mended[i]);
    if (this.current >= 0) {
      if (!this.rules[this.current]) return `sh ${CHECKS}`;
      return `${this.fix(path[this.current]!)}${atEnd && open.length === 1 ? '; exit' : ''}`;
    }
    if (this.passed || (atEnd && open.length === 0)) return 'exit';
    // No rule in hand: either the beginning, or all were lost.
    if (open.length === 0) return `sh ${CHECKS}`;
    // A rule left over at the end: some file was passed by, so from the beginning again.
    const target = atEnd ? 0 : this.pointer;
    return target === 0 && !this.knowsTask ? 'exit' : `cat ${path[target]!.name}`;
  }
  guess(random: RandomStream): string {
    const at = Math.max(this.current, 0);
    const file = this.data.path[at]!;
    const old = this.current >= 0 ? file.old : random.pick(valuePool);
    const wanted = this.rules[at] ? file.wanted : random.pick(valuePool);
    return `${this.fix({ name: file.name, old, wanted })}; exit`;
  }
}

export const repair: TaskFamily = {
  name: 'repair',
  suite: 'code',
  summary:
    'A small code base uses deprecated words. `sh test.sh` says which word to use instead, not where; the files lead from ' +
    'one to the next and are mended with `sed`. The replacements have to be remembered over all files.',
  minDifficulty: 1,
  maxDifficulty: 5,
  generate,
  async verify(instance, shell): Promise<number> {
    const { path, checks } = instance.data as RepairData;
    await shell.write(CHECKS, checks);
    const { output, exitCode } = await shell.run(`sh ${CHECKS}`);
    if (exitCode === 0) return 1;
    const words = wordsOf(output);
    return path.filter((file) => !contains(words, [file.old, file.wanted])).length / (path.length + 1);
  },
  tracker: (instance, options) => new RepairTracker(instance.data as RepairData, instance.instruction, options),
  randomCommand(_instance, random) {
    const kind = random.integer(8);
    if (kind === 0) return 'sh test.sh';
    if (kind < 4) return `cat ${random.pick(namePool)}`;
    return `sed -i s/${random.pick(valuePool)}/${random.pick(valuePool)}/ ${random.pick(namePool)}${kind === 7 ? '; exit' : ''}`;
  },
};
