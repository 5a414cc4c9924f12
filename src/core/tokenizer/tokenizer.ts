/**
 * A fixed word-level tokenizer: lossless for every JavaScript string (lone surrogates included), about one token per
 * word on the lab's tasks. Greedy and deterministic; no training, no merges.
 *
 * The implied space: between two adjacent word tokens decoding inserts one space, so `cat lamp` is two tokens. A word
 * matches only where its alphanumeric ends meet a non-alphanumeric neighbour and its other ends meet a space or the
 * text's edge; two words are therefore never adjacent without a space, and encoding never needs `glue`.
 */
import { special, type Token, tokens, VOCABULARY_SIZE } from './vocabulary';

export type { SpecialName, Token, TokenClass } from './vocabulary';
export { special, tokens, VOCABULARY_SIZE } from './vocabulary';

const REPLACEMENT = '\uFFFD';
const isWord = new Uint8Array(VOCABULARY_SIZE);
const charId = new Map<string, number>();
/** Words and pieces by first character, longest first. */
const candidates = new Map<string, Token[]>();
const nibbleBase = tokens.findIndex((t) => t.class === 'nibble');

for (const token of tokens) {
  if (token.class === 'word') isWord[token.id] = 1;
  if (token.class === 'char') charId.set(token.text, token.id);
  if (token.class === 'word' || token.class === 'piece') {
    const first = token.text.charAt(0);
    candidates.set(first, [...(candidates.get(first) ?? []), token]);
  }
}
for (const list of candidates.values()) list.sort((a, b) => b.text.length - a.text.length);

function isAlphanumeric(text: string, at: number): boolean {
  const c = text.charCodeAt(at); // NaN outside the text: false
  return (c >= 48 && c <= 57) || (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95;
}

function isSpaceOrEdge(text: string, at: number): boolean {
  return at < 0 || at >= text.length || text.charCodeAt(at) === 32 || text.charCodeAt(at) === 10;
}

function boundary(text: string, inside: number, outside: number): boolean {
  return isAlphanumeric(text, inside) ? !isAlphanumeric(text, outside) : isSpaceOrEdge(text, outside);
}

/** The longest word (or, unless `wordsOnly`, word or piece) that starts at `at`. */
function match(text: string, at: number, wordsOnly: boolean): Token | undefined {
  return candidates.get(text.charAt(at))?.find((token) => {
    if (!text.startsWith(token.text, at)) return false;
    if (token.class === 'piece') return !wordsOnly;
    const end = at + token.text.length;
    return boundary(text, at, at - 1) && boundary(text, end - 1, end);
  });
}

/** UTF-8 bytes of one code point; a lone surrogate takes three bytes (WTF-8). */
function codePointBytes(point: number): number[] {
  if (point < 0x80) return [point];
  const continuation = (shift: number) => 0x80 | ((point >> shift) & 0x3f);
  if (point < 0x800) return [0xc0 | (point >> 6), continuation(0)];
  if (point < 0x10000) return [0xe0 | (point >> 12), continuation(6), continuation(0)];
  return [0xf0 | (point >> 18), continuation(12), continuation(6), continuation(0)];
}

/** Token ids of a text. `decode(encode(text)) === text` for every string. */
export function encode(text: string): Uint32Array {
  const ids: number[] = [];
  let afterWord = false;
  for (let at = 0; at < text.length; ) {
    const spaced: Token | undefined = afterWord && text.charCodeAt(at) === 32 ? match(text, at + 1, true) : undefined;
    const token: Token | undefined = spaced ?? match(text, at, false);
    if (token) {
      ids.push(token.id);
      at += token.text.length + (spaced ? 1 : 0);
      afterWord = token.class === 'word';
      continue;
    }
    afterWord = false;
    const id = charId.get(text.charAt(at));
    if (id !== undefined) {
      ids.push(id);
      at++;
      continue;
    }
    const point = text.codePointAt(at) ?? 0;
    for (const byte of codePointBytes(point)) ids.push(nibbleBase + (byte >> 4), nibbleBase + (byte & 15));
    at += point > 0xffff ? 2 : 1;
  }
  return Uint32Array.from(ids);
}

/** WTF-8 to text: any bytes decode; what is not a code point becomes U+FFFD, one per offending byte. */
function decodeBytes(bytes: readonly number[]): string {
  let text = '';
  for (let i = 0; i < bytes.length; ) {
    const lead = bytes[i]!;
    const length =
      lead < 0x80
        ? 1
        : lead >= 0xc2 && lead < 0xe0
          ? 2
          : lead >= 0xe0 && lead < 0xf0
            ? 3
            : lead >= 0xf0 && lead < 0xf5
              ? 4
              : 0;
    let point = length < 2 ? lead : lead & (0x7f >> length);
    let valid = length > 0;
    for (let k = 1; valid && k < length; k++) {
      const byte = bytes[i + k] ?? 0;
      valid = (byte & 0xc0) === 0x80;
      point = (point << 6) | (byte & 0x3f);
    }
    const smallest = [0, 0, 0x80, 0x800, 0x10000][length] ?? 0;
    valid &&= point >= smallest && point <= 0x10ffff;
    text += valid ? String.fromCodePoint(point) : REPLACEMENT;
    i += valid ? length : 1;
  }
  return text;
}

/** How a special token is shown. The brackets are not ASCII, so that a shell takes them as ordinary letters. */
export function specialMark(id: number): string {
  return `⟨${tokens[id]?.text ?? `id ${id}`}⟩`;
}

/**
 * Text of any id sequence; never throws. Special tokens show as visible marks such as `⟨sum⟩` (`glue` shows nothing);
 * half bytes that form no code point become U+FFFD.
 * @param ids token ids; ids outside the vocabulary show as `⟨id n⟩`
 */
export function decode(ids: ArrayLike<number>): string {
  let text = '';
  let bytes: number[] = [];
  let high = -1;
  let afterWord = false;
  const flush = () => {
    if (bytes.length > 0) text += decodeBytes(bytes);
    if (high >= 0) text += REPLACEMENT;
    bytes = [];
    high = -1;
  };
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    const token = tokens[id];
    if (token?.class === 'nibble') {
      const nibble = id - nibbleBase;
      if (high < 0) high = nibble;
      else {
        bytes.push((high << 4) | nibble);
        high = -1;
      }
      afterWord = false;
      continue;
    }
    flush();
    const word = isWord[id] === 1;
    if (!token || token.class === 'special') text += id === special.glue ? '' : specialMark(id);
    else text += word && afterWord ? ` ${token.text}` : token.text;
    afterWord = word;
  }
  flush();
  return text;
}

/**
 * Exact text of a sampled action or summary: its stop token (`eoc`, `eos`) at the end is dropped. A special token
 * anywhere else stays as its visible mark, which a shell takes as an ordinary word.
 */
export function decodeCommand(ids: ArrayLike<number>): string {
  const last = ids[ids.length - 1];
  const stopped = last === special.eoc || last === special.eos;
  return decode(Array.prototype.slice.call(ids, 0, stopped ? ids.length - 1 : ids.length));
}

/**
 * Cuts an observation to at most `cap` tokens; a cut one ends with the visible `trunc` mark as its last token.
 * @param cap tokens, at least 1
 */
export function cutObservation(ids: Uint32Array, cap: number): Uint32Array {
  if (ids.length <= cap) return ids;
  const cut = ids.slice(0, cap);
  cut[cap - 1] = special.trunc;
  return cut;
}
