import type { RandomStream } from '../../core/rng';
import { namePool, valuePool } from '../../core/tokenizer/vocabulary';
import { contains, wordAfter, wordsOf } from '../facts';
import type { TaskDraft, TaskFamily, TaskTracker, TrackerOptions } from '../task';
import { ABOUT, aboutFile, noisyLine } from './noise';

interface Move {
  readonly from: string;
  readonly to: string;
}
interface ManifestData {
  readonly pages: readonly { readonly name: string; readonly moves: readonly Move[] }[];
  /** Files that decoy pages would move; they must stay. */
  readonly bystanders: readonly string[];
}

const DECOY_PAGES = 4;
const moveText = (move: Move) => `mv ${move.from} ${move.to}`;

function generate(random: RandomStream, difficulty: number): TaskDraft {
  const counts = Array.from({ length: difficulty }, () => 1 + random.integer(2));
  const names = random.sample(namePool, namePool.length);
  const values = random.sample(valuePool, valuePool.length);
  const files: Record<string, string> = { [ABOUT]: aboutFile(random) };
  const newMove = (): Move => {
    const from = names.pop()!;
    files[from] = `${from}\n`;
    return { from, to: values.pop()! };
  };
  const newPages = (moveCounts: readonly number[]) =>
    moveCounts.map((count) => ({ name: names.pop()!, moves: Array.from({ length: count }, newMove) }));
  const writePages = (pages: ManifestData['pages']) => {
    pages.forEach((page, i) => {
      const next = pages[i + 1];
      files[page.name] = noisyLine(random, [...page.moves.map(moveText), next ? `next ${next.name}` : 'end']);
    });
  };
  const pages = newPages(counts);
  writePages(pages);
  const decoys = newPages(Array.from({ length: DECOY_PAGES }, () => 1));
  writePages(decoys);
  const data: ManifestData = { pages, bystanders: decoys.flatMap((page) => page.moves.map((move) => move.from)) };
  const minTurns = difficulty + counts.reduce((a, b) => a + b, 0);
  return { instruction: `tidy ${pages[0]!.name}`, files, commands: ['cat', 'echo', 'mv'], minTurns, data };
}

class ManifestTracker implements TaskTracker {
  /** Moves the agent knows of and has not seen done, in page order. */
  private pending: Move[] = [];
  /** Index of the page to read next; 0 is the instruction's. */
  private pointer = 0;
  private end = false;
  private knowsTask = true;
  private readonly moves: readonly Move[];
  constructor(
    private readonly data: ManifestData,
    private readonly instruction: string,
    private readonly options: TrackerOptions,
  ) {
    this.moves = data.pages.flatMap((page) => page.moves);
  }
  observe(command: string, output: string): void {
    const asked = wordsOf(command);
    const seen = wordsOf(output);
    if (command.startsWith('cat ')) {
      const known = new Set([
        ...this.pending,
        ...this.moves.filter((move) => contains(seen, ['mv', move.from, move.to])),
      ]);
      this.pending = this.moves.filter((move) => known.has(move));
      const next = this.data.pages.findIndex((page, i) => i > 0 && page.name === wordAfter(seen, 'next'));
      if (next > 0) this.pointer = next;
      const last = this.data.pages[this.data.pages.length - 1]!;
      if (seen.includes('end') && asked.includes(last.name)) this.end = true;
    }
    // Done now, or found to be done already: `mv: cannot stat …` names the missing source.
    const settled = (move: Move) =>
      contains(asked, ['mv', move.from, move.to]) && (seen.length === 0 || contains(seen, ['stat', move.from]));
    this.pending = this.pending.filter((move) => !settled(move));
  }
  facts(): string[] {
    const facts = this.pending.map(moveText);
    if (this.end) facts.push('end');
    else if (this.pointer > 0) facts.push(`next ${this.data.pages[this.pointer]!.name}`);
    return !this.options.keepTask && this.knowsTask ? [this.instruction, ...facts] : facts;
  }
  resume(summary: string): void {
    const words = wordsOf(summary);
    this.pending = this.pending.filter((move) => contains(words, ['mv', move.from, move.to]));
    this.end &&= words.includes('end');
    const pointed = contains(words, ['next', this.data.pages[this.pointer]!.name]);
    this.pointer = !this.end && this.pointer > 0 && pointed ? this.pointer : 0;
    this.knowsTask = this.options.keepTask || (this.knowsTask && contains(words, wordsOf(this.instruction)));
  }
  next(): string {
    const move = this.pending[0];
    if (move) return `${moveText(move)}${this.end && this.pending.length === 1 ? '; exit' : ''}`;
    if (this.end || (this.pointer === 0 && !this.knowsTask)) return 'exit';
    return `cat ${this.data.pages[this.pointer]!.name}`;
  }
  guess(random: RandomStream): string {
    const move = this.pending[0] ?? { from: random.pick(namePool), to: random.pick(valuePool) };
    return `${moveText(move)}; exit`;
  }
}

export const manifest: TaskFamily = {
  name: 'manifest',
  suite: 'terminal',
  summary:
    'Pages of a manifest list files to rename and lead to the next page. All renames have to be done, so the agent keeps ' +
    'track of what is pending; repeating one is an error and a wasted turn.',
  minDifficulty: 1,
  maxDifficulty: 6,
  generate,
  async verify(instance, shell): Promise<number> {
    const { pages, bystanders } = instance.data as ManifestData;
    const moves = pages.flatMap((page) => page.moves);
    const present = new Set(await shell.list());
    if (bystanders.some((name) => !present.has(name))) return 0;
    let done = 0;
    for (const { from, to } of moves) {
      if (!present.has(from) && (await shell.read(to)) === `${from}\n`) done++;
    }
    return done / moves.length;
  },
  tracker: (instance, options) => new ManifestTracker(instance.data as ManifestData, instance.instruction, options),
  randomCommand: (_instance, random) =>
    random.integer(2) === 0
      ? `cat ${random.pick(namePool)}`
      : `mv ${random.pick(namePool)} ${random.pick(valuePool)}${random.integer(8) === 0 ? '; exit' : ''}`,
};
