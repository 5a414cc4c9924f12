/** Recordings and their timeline: what is refused, and what the screen shows at each moment. */
import { describe, expect, test } from 'vitest';
import { errorParts, type LabErrorParts } from '../../src/core/errors';
import { type Frame, parseRecording, parseRecordingIndex } from '../../src/core/recording/recording';
import { type MarkedFact, markFacts } from '../../src/ui/episode/marks';
import { frameMs, keyFrames, lostFacts, paneAt, stepMs, steps } from '../../src/ui/episode/timeline';
import sample from '../fixtures/episodes/sample.json';

const recording = parseRecording(sample, 'sample');
const [base, trained] = recording.episodes;
const at = (frame: number, portion = 0, episode = base) => paneAt(recording, episode, frame, portion);
function failure(work: () => unknown): LabErrorParts {
  try {
    work();
  } catch (thrown) {
    return errorParts(thrown);
  }
  throw new Error('nothing was thrown');
}
const text = (pieces: readonly { text: string }[]) => pieces.map((piece) => piece.text).join('');

describe('a recording', () => {
  const without = (key: string) => Object.fromEntries(Object.entries(sample).filter(([name]) => name !== key));
  const wrong: readonly [string, unknown, RegExp][] = [
    ['of another version', { ...sample, version: 2 }, /version/],
    ['without a window', without('window'), /window/],
    ['with a key too many', { ...sample, extra: 1 }, /extra/],
    ['with one episode', { ...sample, episodes: sample.episodes.slice(0, 1) }, /episodes/],
    ['with the trained policy first', { ...sample, episodes: [...sample.episodes].reverse() }, /episodes\.0\.policy/],
    ['whose fold names no fact', { ...sample, facts: sample.facts.slice(0, 1) }, /^sample$/],
    [
      'whose outcome contradicts its end',
      { ...sample, episodes: [{ ...sample.episodes[0], success: true }, sample.episodes[1]] },
      /^sample$/,
    ],
  ];
  test.each(wrong)('%s is refused', (_, input, where) => {
    expect(failure(() => parseRecording(input, 'sample'))).toMatchObject({
      code: 'recording.invalid',
      where: expect.stringMatching(where),
    });
  });

  test('an index names files of its own folder only', () => {
    const entry = { name: 'one', title: 'One', file: 'one.json' };
    expect(parseRecordingIndex([entry], 'index')).toEqual([entry]);
    for (const file of ['../one.json', 'https://example.org/one.json', 'a/b.json'])
      expect(failure(() => parseRecordingIndex([{ ...entry, file }], 'index')).where).toBe('index: 0.file');
  });
});

describe('the timeline', () => {
  test('begins with nothing and grows by frames', () => {
    expect(at(0)).toEqual({ lines: [], context: 0, folding: false, fold: null, end: null });
    const second = at(3);
    expect(second.lines.map(({ kind }) => kind)).toEqual(['instruction', 'command', 'output']);
    expect(second.context).toBe(26);
  });

  test('a command is typed letter by letter', () => {
    const typed = [0.05, 0.4, 0.9].map((portion) => text(at(1, portion).lines.at(-1)!.pieces));
    expect(typed).toEqual(['c', 'cat ', 'cat lamp']);
  });

  test('at a fold the context folds, then the summary alone is in it, with the lost fact marked where it was read', () => {
    expect(at(5, 0.1)).toMatchObject({ folding: true, fold: null, context: 40 });
    const after = at(5, 0.9);
    expect(after).toMatchObject({ folding: false, context: 16, fold: { number: 1, of: 1, before: 40, after: 16 } });
    expect(after.fold?.facts.map(({ name, fate }) => `${name} ${fate}`)).toEqual(['code lost', 'next file kept']);
    const marked = after.lines.flatMap(({ pieces }) => pieces.filter(({ fact }) => fact?.fate === 'lost'));
    expect(marked.map((piece) => piece.text)).toEqual(['teal']);
    expect(after.lines.filter(({ seen }) => seen).map(({ kind }) => kind)).toEqual(['instruction', 'summary']);
    expect(at(5, 0.9, trained).fold?.facts.every(({ fate }) => fate === 'kept')).toBe(true);
  });

  test('ends with the outcome beside the fold that decided it', () => {
    const end = at(base.frames.length);
    expect(end.end).toEqual({ success: false, text: 'out holds "amber", expected "teal amber"' });
    expect(end.fold?.number).toBe(1);
    // The side that is done first stays as it is.
    expect(at(99, 0.5, trained)).toEqual(at(trained.frames.length, 0, trained));
  });

  test('of several folds the end shows the first that lost something', () => {
    const fold = (lost: string[]): Frame => ({ kind: 'fold', summary: '', before: 40, after: 9, kept: [], lost });
    const frames = [...base.frames.slice(0, 5), fold([]), fold(['code']), fold(['next file']), base.frames.at(-1)!];
    const longer = { ...base, frames };
    expect(paneAt(recording, longer, 9).fold?.number).toBe(2);
    expect(keyFrames(longer)).toEqual([6, 7, 9]);
    expect(lostFacts(longer)).toEqual(['code', 'next file']);
  });

  test('both sides share a clock, and a step lasts as long as its longer frame', () => {
    expect(steps(recording)).toBe(10);
    expect(stepMs(recording, 9)).toBe(frameMs(base.frames[9]));
    expect(stepMs(recording, 5)).toBeGreaterThan(2000);
    const total = Array.from({ length: 10 }, (_, i) => stepMs(recording, i)).reduce((a, b) => a + b);
    expect(total).toBeLessThan(15_000);
  });

  test('the key frames are the last before the fold, the fold, the outcome', () => {
    expect(keyFrames(base)).toEqual([5, 6, 10]);
    expect(keyFrames({ ...base, frames: base.frames.slice(0, 3) })).toEqual([3]);
  });
});

describe('facts in a text', () => {
  const fact = (value: string): MarkedFact => ({ name: value, value, fate: 'kept' });
  test('are found as whole words, the longest first, whatever they consist of', () => {
    const found = markFacts('blue42 blue4, a.b (axb) notes.txt', ['blue4', 'a.b', 'notes', 'notes.txt'].map(fact));
    expect(found.filter((piece) => piece.fact).map((piece) => piece.text)).toEqual(['blue4', 'a.b', 'notes.txt']);
    expect(text(found)).toBe('blue42 blue4, a.b (axb) notes.txt');
  });
  test('are none in an empty text, and an empty value is nowhere', () => {
    expect(markFacts('', [fact('a')])).toEqual([]);
    expect(markFacts('abc', [fact('')])).toEqual([{ text: 'abc', fact: null }]);
  });
});
