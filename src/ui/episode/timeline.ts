/** From a recording to what the screen shows: pure, so that playing, stepping and jumping cannot differ. */
import type { Frame, RecordedEpisode, Recording } from '../../core/recording/recording';
import { type MarkedFact, markFacts, type Piece } from './marks';

export interface Line {
  readonly kind: 'instruction' | 'command' | 'output' | 'summary';
  readonly pieces: readonly Piece[];
  /** Whether it still stands in the context; a fold empties it. The instruction is shown again in every window. */
  readonly seen: boolean;
}

export interface FoldCard {
  /** From 1, and how many the whole episode has. */
  readonly number: number;
  readonly of: number;
  readonly before: number;
  readonly after: number;
  readonly summary: readonly Piece[];
  readonly facts: readonly MarkedFact[];
}

export interface PaneState {
  readonly lines: readonly Line[];
  /** Tokens in the context. */
  readonly context: number;
  /** The context is folding up at this moment. */
  readonly folding: boolean;
  readonly fold: FoldCard | null;
  readonly end: { readonly text: string; readonly success: boolean } | null;
}

type FoldFrame = Extract<Frame, { kind: 'fold' }>;

/** Share of a fold's time in which the context folds; in the rest its card can be read. */
const FOLDING_SHARE = 0.35;

/** How long a frame is on its own, ms: typed text by its length, a fold long enough to read its card. */
export function frameMs(frame: Frame | undefined): number {
  switch (frame?.kind) {
    case undefined:
      return 0;
    case 'instruction':
      return 900;
    case 'command':
      return 250 + Math.min(750, 24 * frame.text.length);
    case 'output':
      return 550;
    case 'fold':
      return 3000;
    case 'end':
      return 800;
  }
}

/** Frames of the longer episode: both play on one clock, frame by frame. */
export const steps = ({ episodes }: Recording): number => Math.max(...episodes.map(({ frames }) => frames.length));

/** How long step `at` takes on the common clock, ms. */
export const stepMs = ({ episodes }: Recording, at: number): number =>
  Math.max(...episodes.map(({ frames }) => frameMs(frames[at])));

/** What a fold did to the facts. */
function fates(frame: FoldFrame, { facts }: Recording): readonly MarkedFact[] {
  return facts.flatMap(({ name, value }): MarkedFact[] => {
    if (frame.lost.includes(name)) return [{ name, value, fate: 'lost' }];
    return frame.kept.includes(name) ? [{ name, value, fate: 'kept' }] : [];
  });
}

function foldCards(recording: Recording, frames: readonly Frame[], all: readonly Frame[]): readonly FoldCard[] {
  const of = all.filter(({ kind }) => kind === 'fold').length;
  return frames
    .filter((frame): frame is FoldFrame => frame.kind === 'fold')
    .map((frame, i) => {
      const facts = fates(frame, recording);
      return {
        number: i + 1,
        of,
        before: frame.before,
        after: frame.after,
        summary: markFacts(frame.summary, facts),
        facts,
      };
    });
}

/** At its end an episode shows the fold that decided: the first that lost a fact, else the last. */
function decisive(cards: readonly FoldCard[]): FoldCard | null {
  return cards.find(({ facts }) => facts.some(({ fate }) => fate === 'lost')) ?? cards.at(-1) ?? null;
}

/**
 * What one side shows.
 * @param at frames that are complete, from 0
 * @param portion how far the next frame has come, 0 to below 1
 */
export function paneAt(recording: Recording, episode: RecordedEpisode, at: number, portion = 0): PaneState {
  const all = episode.frames;
  const current = portion > 0 ? all[at] : undefined;
  const begun = all.slice(0, current ? at + 1 : at);
  const folding = current?.kind === 'fold' && portion < FOLDING_SHARE;
  const shown = folding ? begun.slice(0, -1) : begun;
  const last = shown.at(-1);
  const cards = foldCards(recording, shown, all);
  const lines: Line[] = [];
  for (const [i, frame] of shown.entries()) {
    if (frame.kind === 'end') continue;
    if (frame.kind === 'fold') {
      const facts = fates(frame, recording);
      // What the summary left out is marked where it was last read.
      for (const [k, line] of lines.entries())
        if (line.seen && line.kind !== 'instruction') {
          const text = line.pieces.map((piece) => piece.text).join('');
          lines[k] = { ...line, pieces: markFacts(text, facts), seen: false };
        }
      lines.push({ kind: 'summary', pieces: markFacts(frame.summary, facts), seen: true });
      continue;
    }
    const typing = frame.kind === 'command' && frame === current && i === at;
    const text = typing ? frame.text.slice(0, Math.ceil(frame.text.length * Math.min(1, portion / 0.8))) : frame.text;
    lines.push({ kind: frame.kind, pieces: markFacts(text, []), seen: true });
  }
  return {
    lines,
    context: contextAfter(last),
    folding,
    fold: last?.kind === 'end' ? decisive(cards) : (cards.at(-1) ?? null),
    end: last?.kind === 'end' ? { text: last.text, success: last.success } : null,
  };
}

function contextAfter(frame: Frame | undefined): number {
  if (!frame) return 0;
  return frame.kind === 'fold' ? frame.after : frame.context;
}

/**
 * The three pictures that tell an episode without motion, as numbers of complete frames: the last before the decisive fold,
 * that fold, the outcome. Without a fold the outcome alone.
 */
export function keyFrames({ frames }: RecordedEpisode): readonly number[] {
  const folds = frames.flatMap((frame, i) => (frame.kind === 'fold' ? [{ frame, i }] : []));
  const fold = folds.find(({ frame }) => frame.lost.length > 0) ?? folds.at(-1);
  return fold ? [fold.i, fold.i + 1, frames.length] : [frames.length];
}

/** Facts that an episode lost at any fold, by name, each once. */
export function lostFacts({ frames }: RecordedEpisode): readonly string[] {
  return [...new Set(frames.flatMap((frame) => (frame.kind === 'fold' ? frame.lost : [])))];
}
