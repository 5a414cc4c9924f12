/**
 * Reverse-mode differentiation of scalars in float64: a list of nodes with up to three parents and their partial
 * derivatives. It knows no formula of any layer, so a gradient from it is independent of every hand-written backward pass.
 */
export class Tape {
  private values = new Float64Array(1 << 12);
  private parents = new Int32Array(3 << 12);
  private partials = new Float64Array(3 << 12);
  private count = 0;

  /** An input. @returns node number */
  leaf(value: number): number {
    return this.push(value);
  }
  leaves(values: ArrayLike<number>): number[] {
    return Array.from(values, (v) => this.push(v));
  }
  value(node: number): number {
    return this.values[node]!;
  }
  add(a: number, b: number): number {
    return this.push(this.value(a) + this.value(b), a, 1, b, 1);
  }
  sub(a: number, b: number): number {
    return this.push(this.value(a) - this.value(b), a, 1, b, -1);
  }
  mul(a: number, b: number): number {
    return this.push(this.value(a) * this.value(b), a, this.value(b), b, this.value(a));
  }
  /** a · b + c */
  fma(a: number, b: number, c: number): number {
    return this.push(this.value(a) * this.value(b) + this.value(c), a, this.value(b), b, this.value(a), c, 1);
  }
  scale(a: number, factor: number): number {
    return this.push(this.value(a) * factor, a, factor);
  }
  shift(a: number, constant: number): number {
    return this.push(this.value(a) + constant, a, 1);
  }
  exp(a: number): number {
    const e = Math.exp(this.value(a));
    return this.push(e, a, e);
  }
  log(a: number): number {
    return this.push(Math.log(this.value(a)), a, 1 / this.value(a));
  }
  /** a^power */
  power(a: number, power: number): number {
    const v = this.value(a);
    return this.push(v ** power, a, power * v ** (power - 1));
  }
  relu(a: number): number {
    const v = this.value(a);
    return this.push(Math.max(v, 0), a, v > 0 ? 1 : 0);
  }
  min(a: number, b: number): number {
    return this.value(a) <= this.value(b) ? this.scale(a, 1) : this.scale(b, 1);
  }
  max(a: number, b: number): number {
    return this.value(a) >= this.value(b) ? this.scale(a, 1) : this.scale(b, 1);
  }
  clamp(a: number, low: number, high: number): number {
    const v = this.value(a);
    return this.push(Math.min(Math.max(v, low), high), a, v > low && v < high ? 1 : 0);
  }
  sum(nodes: readonly number[]): number {
    return nodes.reduce((a, b) => this.add(a, b), this.leaf(0));
  }
  dot(a: readonly number[], b: readonly number[], start?: number): number {
    let sum = start ?? this.leaf(0);
    a.forEach((node, i) => {
      sum = this.fma(node, b[i]!, sum);
    });
    return sum;
  }
  /** Derivative of `node` by every node before it. @returns indexed by node number */
  backward(node: number): Float64Array {
    const gradient = new Float64Array(this.count);
    gradient[node] = 1;
    for (let n = node; n >= 0; n--) {
      const g = gradient[n]!;
      if (g === 0) continue;
      for (let k = 3 * n; k < 3 * n + 3; k++) {
        const parent = this.parents[k]!;
        if (parent >= 0) gradient[parent]! += g * this.partials[k]!;
      }
    }
    return gradient;
  }

  private push(value: number, a = -1, da = 0, b = -1, db = 0, c = -1, dc = 0): number {
    if (this.count === this.values.length) this.grow();
    const n = this.count++;
    this.values[n] = value;
    this.parents.set([a, b, c], 3 * n);
    this.partials.set([da, db, dc], 3 * n);
    return n;
  }
  private grow(): void {
    const wider = <T extends Float64Array | Int32Array>(old: T, fresh: T): T => {
      fresh.set(old);
      return fresh;
    };
    this.values = wider(this.values, new Float64Array(2 * this.values.length));
    this.parents = wider(this.parents, new Int32Array(2 * this.parents.length));
    this.partials = wider(this.partials, new Float64Array(2 * this.partials.length));
  }
}
