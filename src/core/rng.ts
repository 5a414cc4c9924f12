/**
 * Counter-based random numbers: Threefry-2x32, 20 rounds (Salmon et al., SC11, "Parallel Random Numbers: As Easy as
 * 1, 2, 3"). A draw is a pure function of (seed, purpose, stream, index), so it depends neither on batch shape nor on
 * the order in which workers finish. shaders/threefry.wgsl computes the same bits.
 */

/** What a stream of random numbers is used for; part of the key, so that purposes never share draws. */
export const purposes = {
  sample: 1,
  evalSample: 2,
  task: 3,
  evalTask: 4,
  shuffle: 5,
  init: 6,
  demonstration: 7,
  shell: 8,
  test: 9,
  chance: 10,
  bootstrap: 11,
} as const;
export type Purpose = keyof typeof purposes;

const PARITY = 0x1bd11bda;
const ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24] as const;

function rotateLeft(x: number, r: number): number {
  return (x << r) | (x >>> (32 - r));
}

/**
 * One Threefry-2x32-20 block.
 * @returns two unsigned 32-bit integers.
 */
export function threefry(key0: number, key1: number, counter0: number, counter1: number): [number, number] {
  const k2 = PARITY ^ key0 ^ key1;
  let x0 = (counter0 + key0) | 0;
  let x1 = (counter1 + key1) | 0;
  for (let block = 0; block < 5; block++) {
    const at = (block % 2) * 4;
    for (let i = 0; i < 4; i++) {
      x0 = (x0 + x1) | 0;
      x1 = rotateLeft(x1, ROTATIONS[at + i]!) ^ x0;
    }
    const injection = block + 1;
    const a = injection % 3;
    const b = (injection + 1) % 3;
    x0 = (x0 + (a === 0 ? key0 : a === 1 ? key1 : k2)) | 0;
    x1 = (x1 + (b === 0 ? key0 : b === 1 ? key1 : k2) + injection) | 0;
  }
  return [x0 >>> 0, x1 >>> 0];
}

/** Key of a (seed, purpose) pair: two 32-bit words. Seeds are unsigned 32-bit integers. */
export function randomKey(seed: number, purpose: Purpose): [number, number] {
  return [seed >>> 0, purposes[purpose]];
}

/** Maps 32 random bits to [0, 1): the top 24 bits, exact in float32 and so equal in TypeScript and WGSL. */
export function unitFloat(bits: number): number {
  return (bits >>> 8) * 2 ** -24;
}

/** A sequential view of one stream: draw number i is `threefry(key, stream, i)`. */
export class RandomStream {
  private index = 0;
  private readonly key0: number;
  private readonly key1: number;
  /**
   * @param seed unsigned 32-bit run seed
   * @param stream unsigned 32-bit stream number, e.g. the rollout or task number
   */
  constructor(
    seed: number,
    purpose: Purpose,
    readonly stream: number,
  ) {
    [this.key0, this.key1] = randomKey(seed, purpose);
  }
  /** 32 random bits. */
  bits(): number {
    return threefry(this.key0, this.key1, this.stream >>> 0, this.index++ >>> 0)[0];
  }
  /** Uniform in [0, 1). */
  uniform(): number {
    return unitFloat(this.bits());
  }
  /** Uniform integer in [0, n), without modulo bias (rejection). */
  integer(n: number): number {
    const limit = 2 ** 32 - (2 ** 32 % n);
    for (;;) {
      const b = this.bits();
      if (b < limit) return b % n;
    }
  }
  /** Standard normal (Box–Muller, cosine branch). */
  normal(): number {
    const u = 1 - this.uniform();
    return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * this.uniform());
  }
  /** One element of a non-empty list. */
  pick<T>(items: readonly T[]): T {
    return items[this.integer(items.length)]!;
  }
  /** `count` different elements, in random order (partial Fisher–Yates on a copy). */
  sample<T>(items: readonly T[], count: number): T[] {
    const copy = [...items];
    for (let i = 0; i < count; i++) {
      const j = i + this.integer(copy.length - i);
      [copy[i], copy[j]] = [copy[j]!, copy[i]!];
    }
    return copy.slice(0, count);
  }
  /** A shuffled copy. */
  shuffle<T>(items: readonly T[]): T[] {
    return this.sample(items, items.length);
  }
}
