/** What the viewer of one rollout shows, as a pure function of the events played so far. */
import type { WatchEvent } from '../../core/protocol/protocol';
import { decode, special } from '../../core/tokenizer/tokenizer';

/** `carried`: summary tokens copied into the rebuilt context; the policy wrote them before the compaction. */
export type TokenKind = 'context' | 'action' | 'observation' | 'summary' | 'carried';

/** Neighbouring tokens of one kind in the current context. */
export interface TokenRun {
  readonly kind: TokenKind;
  readonly tokens: number;
}

/** A piece of the transcript. */
export interface TranscriptEntry {
  readonly kind: TokenKind | 'compact' | 'end' | 'start';
  readonly text: string;
}

export interface WatchState {
  readonly rollout: number | null;
  readonly instruction: string;
  /** Context budget C and reserve T_comp, tokens. */
  readonly window: number;
  readonly reserve: number;
  readonly turnLimit: number;
  readonly turns: number;
  readonly runs: readonly TokenRun[];
  /** Tokens in the context now. */
  readonly used: number;
  readonly compactions: number;
  /** Tokens of the last summary; after the compaction those of its copy, which has no stop token. */
  readonly summaryTokens: number;
  /** True between a compaction and the next action: arriving tokens rebuild the context. */
  readonly rebuilding: boolean;
  /** The context that was folded by the last compaction, while the page animates it; null otherwise. */
  readonly folding: readonly TokenRun[] | null;
  readonly transcript: readonly TranscriptEntry[];
  readonly end: { readonly stop: string; readonly reward: number } | null;
}

/** An empty viewer for a window that is not running yet. */
export function emptyWatch(window: number, reserve: number): WatchState {
  return {
    rollout: null,
    instruction: '',
    window,
    reserve,
    turnLimit: 0,
    turns: 0,
    runs: [],
    used: 0,
    compactions: 0,
    summaryTokens: 0,
    rebuilding: false,
    folding: null,
    transcript: [],
    end: null,
  };
}

function addRun(runs: readonly TokenRun[], kind: TokenKind, tokens: number): readonly TokenRun[] {
  const last = runs.at(-1);
  return last?.kind === kind
    ? [...runs.slice(0, -1), { kind, tokens: last.tokens + tokens }]
    : [...runs, { kind, tokens }];
}

function addText(transcript: readonly TranscriptEntry[], kind: TranscriptEntry['kind'], text: string) {
  const last = transcript.at(-1);
  return last?.kind === kind
    ? [...transcript.slice(0, -1), { kind, text: last.text + text }]
    : [...transcript, { kind, text }];
}

type TokensEvent = Extract<WatchEvent, { type: 'tokens' }>;
export interface TokenPiece {
  readonly kind: TokenKind;
  readonly tokens: number;
  readonly text: string;
}

/**
 * The pieces of a token event. A rebuilt context carries the summary behind the `resume` mark; those tokens are shown as
 * carried, because the policy wrote them and nothing else survived.
 */
export function splitResume(state: WatchState, event: TokensEvent): readonly TokenPiece[] {
  const { ids, kind, text } = event;
  const from = state.rebuilding && kind === 'context' ? ids.indexOf(special.resume) + 1 : 0;
  if (from === 0) return [{ kind, tokens: ids.length, text }];
  const to = Math.min(ids.length, from + state.summaryTokens);
  const parts: [TokenKind, readonly number[]][] = [
    ['context', ids.slice(0, from)],
    ['carried', ids.slice(from, to)],
    ['context', ids.slice(to)],
  ];
  return parts.filter(([, p]) => p.length > 0).map(([k, p]) => ({ kind: k, tokens: p.length, text: decode(p) }));
}

function applyTokens(state: WatchState, { kind, tokens, text }: TokenPiece): WatchState {
  const startsTurn = kind === 'action' && state.runs.at(-1)?.kind !== 'action';
  const written =
    kind === 'summary' ? (state.runs.at(-1)?.kind === 'summary' ? state.summaryTokens : 0) + tokens : null;
  return {
    ...state,
    runs: addRun(state.runs, kind, tokens),
    used: state.used + tokens,
    turns: state.turns + (startsTurn ? 1 : 0),
    summaryTokens: written ?? state.summaryTokens,
    rebuilding: state.rebuilding && kind !== 'action',
    transcript: addText(state.transcript, kind, text),
  };
}

/** Plays one event. */
export function applyEvent(state: WatchState, event: WatchEvent): WatchState {
  switch (event.type) {
    case 'start':
      return {
        ...emptyWatch(event.window, event.reserve),
        rollout: event.rollout,
        instruction: event.instruction,
        turnLimit: event.turnLimit,
        transcript: [{ kind: 'start', text: event.instruction }],
      };
    case 'tokens':
      return splitResume(state, event).reduce(applyTokens, state);
    case 'compact':
      return {
        ...state,
        runs: [],
        used: 0,
        compactions: state.compactions + 1,
        // The stop token of the summary stays behind.
        summaryTokens: Math.max(0, state.summaryTokens - 1),
        rebuilding: true,
        folding: state.runs,
        transcript: [
          ...state.transcript,
          { kind: 'compact', text: `${event.tokensBefore} → ${event.tokensAfter} tokens` },
        ],
      };
    case 'end':
      return {
        ...state,
        end: { stop: event.stop, reward: event.reward },
        transcript: [...state.transcript, { kind: 'end', text: stopText(event.stop, event.reward) }],
      };
  }
}

const STOPS: Readonly<Record<string, string>> = {
  solved: 'every check passed',
  failed: 'exited, but a check failed',
  'turn-limit': 'ran out of turns',
  'command-limit': 'a command hit its limit',
  'window-full': 'the window is full',
  'resume-too-long': 'the summary left no room to go on',
};

/** How a rollout ended, in words. */
export function stopText(stop: string, reward: number): string {
  return `${STOPS[stop] ?? stop} · reward ${reward}`;
}

const MARKS: Readonly<Record<string, string>> = {
  '⟨bos⟩': '',
  '⟨task⟩': 'task  ',
  '⟨act⟩': '',
  '⟨eoc⟩': '',
  '⟨sum⟩': '',
  '⟨eos⟩': '',
  '⟨resume⟩': '',
  '⟨trunc⟩': ' …',
};

/** Text with the marks of special tokens replaced by what a reader expects to see. */
export function readable(text: string): string {
  return text.replace(/⟨\w+⟩/g, (mark) => MARKS[mark] ?? mark);
}
