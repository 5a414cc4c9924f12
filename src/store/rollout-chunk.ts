/**
 * Rollouts as a few large typed arrays instead of thousands of small ones: a structured clone costs per object. Of the
 * per-token floats only those under the mask are kept, since they are 0 elsewhere by definition; where a rollout breaks
 * that rule all are kept, so that unpacking gives back every bit in any case.
 */
import { LabError } from '../core/errors';
import type { Rollout, Segment } from '../core/trajectory/trajectory';

const FLOATS = ['logp', 'values', 'advantages', 'targets'] as const;

type SegmentMeta = Pick<Segment, 'kind' | 'contextLength'> & {
  readonly length: number;
  /** Whether floats are kept for masked tokens only. */
  readonly sparse: boolean;
};
type RolloutMeta = Omit<Rollout, 'segments'> & { readonly segments: readonly SegmentMeta[] };

/** Several rollouts, packed. Arrays run over the segments of all of them, in order. */
export interface RolloutChunk {
  readonly format: 1;
  readonly rollouts: readonly RolloutMeta[];
  readonly ids: Uint16Array<ArrayBuffer>;
  /** One bit a token, lowest bit first. */
  readonly maskBits: Uint8Array<ArrayBuffer>;
  /** For each segment: kept log-probs, values, advantages, targets. */
  readonly floats: Float32Array<ArrayBuffer>;
}

/** Tokens per chunk, about: 100 to 500 kB a record, far below every browser's cap on one value. */
const CHUNK_TOKENS = 32_768;

/** Packs rollouts, in order, into chunks of about `chunkTokens` tokens; a rollout is never split. */
export function packRollouts(rollouts: readonly Rollout[], chunkTokens = CHUNK_TOKENS): RolloutChunk[] {
  const chunks: RolloutChunk[] = [];
  let group: Rollout[] = [];
  let tokens = 0;
  for (const rollout of rollouts) {
    const own = rollout.segments.reduce((sum, segment) => sum + segment.ids.length, 0);
    if (group.length > 0 && tokens + own > chunkTokens) {
      chunks.push(packChunk(group));
      group = [];
      tokens = 0;
    }
    group.push(rollout);
    tokens += own;
  }
  if (group.length > 0) chunks.push(packChunk(group));
  return chunks;
}

function packChunk(rollouts: readonly Rollout[]): RolloutChunk {
  const segments = rollouts.flatMap((rollout) => rollout.segments);
  for (const segment of segments) checkLengths(segment);
  const sparse = new Map(segments.map((segment) => [segment, isSparse(segment)]));
  const tokens = segments.reduce((sum, segment) => sum + segment.ids.length, 0);
  const kept = segments.reduce((sum, segment) => sum + keptTokens(segment.mask, sparse.get(segment)!), 0);
  const ids = new Uint16Array(tokens);
  const maskBits = new Uint8Array(Math.ceil(tokens / 8));
  const floats = new Float32Array(FLOATS.length * kept);
  const bits = bitsOf(floats);
  let token = 0;
  let float = 0;
  for (const segment of segments) {
    ids.set(segment.ids, token);
    for (let i = 0; i < segment.mask.length; i++) {
      if (segment.mask[i]) maskBits[(token + i) >> 3]! |= 1 << ((token + i) & 7);
    }
    for (const name of FLOATS) {
      const own = bitsOf(segment[name]);
      for (let i = 0; i < own.length; i++) if (!sparse.get(segment) || segment.mask[i]) bits[float++] = own[i]!;
    }
    token += segment.ids.length;
  }
  const metas = rollouts.map((rollout) => ({
    ...rollout,
    segments: rollout.segments.map((segment) => ({
      kind: segment.kind,
      contextLength: segment.contextLength,
      length: segment.ids.length,
      sparse: sparse.get(segment)!,
    })),
  }));
  return { format: 1, rollouts: metas, ids, maskBits, floats };
}

/** Gives the rollouts back, bit for bit, each array its own. */
export function unpackRollouts(chunk: RolloutChunk): Rollout[] {
  const bits = bitsOf(chunk.floats);
  let token = 0;
  let float = 0;
  return chunk.rollouts.map((meta) => ({
    ...meta,
    segments: meta.segments.map(({ kind, contextLength, length, sparse }) => {
      const start = token;
      token += length;
      const mask = Uint8Array.from({ length }, (_, i) => (chunk.maskBits[(start + i) >> 3]! >> ((start + i) & 7)) & 1);
      const [logp, values, advantages, targets] = FLOATS.map(() => {
        const own = new Uint32Array(length);
        for (let i = 0; i < length; i++) if (!sparse || mask[i]) own[i] = bits[float++]!;
        return new Float32Array(own.buffer);
      }) as [Float32Array, Float32Array, Float32Array, Float32Array];
      return { kind, contextLength, ids: chunk.ids.slice(start, token), mask, logp, values, advantages, targets };
    }),
  }));
}

/** Bytes a chunk takes, about: its arrays, and its texts as JSON. */
export function chunkBytes(chunk: RolloutChunk): number {
  return (
    chunk.ids.byteLength + chunk.maskBits.byteLength + chunk.floats.byteLength + JSON.stringify(chunk.rollouts).length
  );
}

function keptTokens(mask: Uint8Array, sparse: boolean): number {
  return sparse ? mask.reduce((sum, bit) => sum + (bit ? 1 : 0), 0) : mask.length;
}

/** Whether every float outside the mask is +0. */
function isSparse(segment: Segment): boolean {
  return FLOATS.every((name) => bitsOf(segment[name]).every((bits, i) => segment.mask[i] || bits === 0));
}

/** The same memory as 32-bit integers: copying floats through a JavaScript number may change the bits of a NaN. */
function bitsOf(floats: Float32Array): Uint32Array {
  return new Uint32Array(floats.buffer, floats.byteOffset, floats.length);
}

function checkLengths(segment: Segment): void {
  const expected = segment.ids.length;
  for (const name of ['mask', ...FLOATS] as const) {
    if (segment[name].length !== expected)
      throw new LabError({
        code: 'store.bad-rollout',
        what: 'A segment has lists of different lengths',
        where: name,
        expected: `${expected} entries`,
        got: `${segment[name].length}`,
      });
  }
}
