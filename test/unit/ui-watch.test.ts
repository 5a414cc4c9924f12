import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WatchEvent } from '../../src/core/protocol/protocol';
import { decode, encode, special } from '../../src/core/tokenizer/tokenizer';
import { sanitise } from '../../src/ui/watch/sanitise';
import { applyEvent, emptyWatch, readable, type WatchState } from '../../src/ui/watch/watch-model';
import { splitTokens, WatchPlayer } from '../../src/ui/watch/watch-player';

type Kind = Extract<WatchEvent, { type: 'tokens' }>['kind'];
const tokens = (kind: Kind, ids: readonly number[]): Extract<WatchEvent, { type: 'tokens' }> => ({
  type: 'tokens',
  kind,
  ids,
  text: decode(ids),
});
const start = (rollout: number): WatchEvent => ({
  type: 'start',
  rollout,
  instruction: 'follow lamp',
  window: 64,
  reserve: 33,
  turnLimit: 12,
});
const ids = (text: string) => [...encode(text)];
const play = (events: readonly WatchEvent[]): WatchState => events.reduce(applyEvent, emptyWatch(64, 33));

const summary = ids('code teal next kite');
const episode: readonly WatchEvent[] = [
  start(7),
  tokens('context', [special.bos, special.task, ...ids('follow lamp')]),
  tokens('context', [special.act]),
  tokens('action', [...ids('cat lamp'), special.eoc]),
  tokens('observation', ids('code teal\nnext kite\n')),
  tokens('context', [special.sum]),
  tokens('summary', [...summary, special.eos]),
  { type: 'compact', summary: 'code teal next kite', tokensBefore: 20, tokensAfter: 9 },
  tokens('context', [special.bos, special.task, ...ids('follow lamp'), special.resume, ...summary]),
  tokens('context', [special.act]),
  tokens('action', [...ids('cat kite'), special.eoc]),
  { type: 'end', stop: 'solved', reward: 1 },
];

describe('what the viewer shows', () => {
  test('counts every token of the current context and nothing of the folded one', () => {
    const before = play(episode.slice(0, 7));
    const after = play(episode);
    const sum = (state: WatchState) => state.runs.reduce((n, r) => n + r.tokens, 0);
    const fed = (from: number, to: number) =>
      episode.slice(from, to).reduce((n, e) => n + (e.type === 'tokens' ? e.ids.length : 0), 0);
    expect(before.used).toBe(fed(0, 7));
    expect(after.used).toBe(fed(8, 12));
    expect(sum(after)).toBe(after.used);
    expect(after.compactions).toBe(1);
    expect(after.turns).toBe(2);
  });

  test('the copy of the summary in the rebuilt context is carried, to the token', () => {
    const carried = play(episode).runs.filter((r) => r.kind === 'carried');
    expect(carried).toEqual([{ kind: 'carried', tokens: summary.length }]);
  });

  test('a folded context is kept for the animation', () => {
    const folded = play(episode.slice(0, 8));
    expect(folded.used).toBe(0);
    expect(folded.folding).toEqual(play(episode.slice(0, 7)).runs);
  });

  test('marks of special tokens are not shown, unknown ones are', () => {
    expect(readable('⟨act⟩cat lamp⟨eoc⟩⟨trunc⟩⟨spare0⟩')).toBe('cat lamp …⟨spare0⟩');
  });
});

describe('playback', () => {
  const drain = (player: WatchPlayer, stepMs: number, reduced = false) => {
    let last = player.advance(0, reduced);
    const texts: string[] = [];
    for (let i = 0; i < 2000 && player.busy; i++) {
      last = player.advance(stepMs, reduced);
      for (const w of last.writes) texts.push(w.text);
    }
    return { state: last.state, text: texts.join('') };
  };

  test('ends in the state of the events, whatever the clock', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.boolean(), (stepMs, reduced) => {
        const player = new WatchPlayer(emptyWatch(64, 33));
        player.push(episode);
        const { state } = drain(player, stepMs, reduced);
        expect({ ...state, folding: null }).toEqual({ ...play(episode), folding: null });
      }),
      { seed: 1, numRuns: 30 },
    );
  });

  test('is paced: 30 tokens a second, so half a second shows at most 15 sampled or observed tokens', () => {
    const player = new WatchPlayer(emptyWatch(64, 33));
    player.push([
      start(1),
      tokens(
        'action',
        Array.from({ length: 60 }, () => ids('cat')[0] as number),
      ),
    ]);
    for (let i = 0; i < 5; i++) player.advance(100);
    expect(player.state.used).toBeGreaterThanOrEqual(14);
    expect(player.state.used).toBeLessThanOrEqual(15);
  });

  test('skips whole episodes, never parts: of many that arrive meanwhile, the newest is next', () => {
    const player = new WatchPlayer(emptyWatch(64, 33));
    player.push(episode);
    player.advance(50);
    for (const rollout of [8, 9, 10]) player.push([start(rollout), ...episode.slice(1)]);
    const seen: number[] = [];
    for (let i = 0; i < 2000 && player.busy; i++) {
      const { rollout } = player.advance(100).state;
      if (rollout !== null && seen.at(-1) !== rollout) seen.push(rollout);
    }
    expect(seen).toEqual([7, 10]);
  });

  test('a token event split anywhere says the same text', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }), fc.nat(), (text, at) => {
        const event = tokens('observation', ids(text));
        const [head, tail] = splitTokens(event, at % (event.ids.length + 1));
        expect(head.text + tail.text).toBe(event.text);
        expect([...head.ids, ...tail.ids]).toEqual(event.ids);
      }),
      { seed: 1 },
    );
  });
});

describe('terminal text is harmless', () => {
  test.each([
    ['colour', '\x1b[31mred\x1b[0m', 'red'],
    ['title with BEL', '\x1b]0;title\x07text', 'text'],
    ['title with ST', '\x1b]2;title\x1b\\text', 'text'],
    ['clipboard', '\x1b]52;c;aGk=\x07x', 'x'],
    ['device control', '\x1bPq#0\x1b\\x', 'x'],
    ['8-bit CSI', '\x9b2Jx', 'x'],
    ['cursor', 'a\x1b[2Ab\rc', 'abc'],
    ['full reset', 'a\x1bcb', 'ab'],
    ['kept', 'tab\there\nünï 漢字 🙂', 'tab\there\nünï 漢字 🙂'],
    ['direction override', 'a\u202ebc', 'abc'],
  ])('%s', (_, text, expected) => {
    expect(sanitise(text)).toBe(expected);
  });

  test('no control character survives, wherever a sequence is cut', () => {
    const piece = fc.constantFrom(
      '\x1b',
      '[',
      ']',
      '0;',
      'm',
      '\x07',
      '\x9b',
      '\x9d',
      '\\',
      'P',
      'x',
      '\n',
      '\t',
      '\r',
      '31',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        expect(sanitise(pieces.join('')).replace(/[\n\t]/g, '')).not.toMatch(/\p{Cc}/u);
      }),
      { seed: 1, numRuns: 500 },
    );
  });
});
