/**
 * The 256 tokens of the lab, in id order: specials, printable characters, half bytes, words, pieces. The pools that the
 * tasks draw names, values and noise from are part of it, so that every task word is one token.
 */

export const VOCABULARY_SIZE = 256;

/**
 * - `special`: structure of a context; never produced by encoding text
 * - `char`: one printable ASCII character, newline or tab
 * - `nibble`: half a byte; two in a row (high, low) spell any byte without a character token
 * - `word`: a word without spaces; between two adjacent words decoding inserts one space
 * - `piece`: a frequent string, taken literally
 */
export type TokenClass = 'special' | 'char' | 'nibble' | 'word' | 'piece';

export interface Token {
  readonly id: number;
  readonly text: string;
  readonly class: TokenClass;
}

const specialNames = [
  'pad', // 0: padding, never attended
  'bos', // start of a context
  'task', // the instruction follows
  'act', // the prompt: an action follows
  'eoc', // end of command, sampled; ends an action
  'sum', // summary request, q_sum; request for a note after a failed attempt
  'eos', // summary stop, sampled
  'resume', // the copied summary follows, or the note of the attempt before
  'trunc', // an observation was cut here
  'compact', // reserved: the policy asks for a compaction itself
  'spare0',
  'glue', // no space between the words around it
  'spare1',
  'spare2',
] as const;
export type SpecialName = (typeof specialNames)[number];

/** File names: 36 nouns. All sort after `about`, the file that makes `cat *` useless. */
export const namePool: readonly string[] =
  `acorn bell boat bread brush candle chair clock cloud comb desk door drum fan fork glove hat key kite lamp leaf
   mug nest nut pan pen ring rope seed shoe spoon tent tree vase wheel wing`.split(/\s+/);

/** Values: 32 gems, colours and metals. A guess is right once in 32. */
export const valuePool: readonly string[] =
  `amber azure black blue bronze cobalt copper coral crimson cyan gold gray green indigo iron ivory jade khaki lead
   lilac lime navy ochre olive onyx opal pink red ruby silver teal zinc`.split(/\s+/);

/** Noise: 20 words that carry no information. */
export const noisePool: readonly string[] =
  `and but calm dull each far few idle just less many near odd often quite slow soft then very warm`.split(/\s+/);

const shellWords =
  'cat echo mv sed sh exit > out -i test.sh ls rm cp mkdir touch head follow collect tidy repair code next end use is ok'.split(
    ' ',
  );

const pieces = [
  '; exit',
  '; ',
  'sed -i s/',
  '/ ',
  'cat: ',
  'bash: ',
  'sed: ',
  'sh: ',
  'mv: ',
  ': No such file or directory\n',
  ': command not found\n',
  "mv: cannot stat '",
  "': No such file or directory\n",
  'mv: missing destination file operand\n',
  'bash: syntax error: ',
];

function build(): Token[] {
  const chars = ['\n', '\t', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))];
  const nibbles = Array.from({ length: 16 }, (_, i) => `0x${i.toString(16)}`);
  const classes: [TokenClass, readonly string[]][] = [
    ['special', specialNames],
    ['char', chars],
    ['nibble', nibbles],
    ['word', [...shellWords, ...namePool, ...valuePool, ...noisePool]],
    ['piece', pieces],
  ];
  return classes
    .flatMap(([kind, texts]) => texts.map((text) => ({ class: kind, text })))
    .map((token, id) => ({ id, ...token }));
}

/** All tokens; `tokens[id].id === id`. */
export const tokens: readonly Token[] = build();

/** Ids of the special tokens. */
export const special: Readonly<Record<SpecialName, number>> = Object.fromEntries(
  specialNames.map((name, id) => [name, id]),
) as Record<SpecialName, number>;
