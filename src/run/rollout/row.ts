/** The tokens of the context an episode is in, with what training needs of each: one row of a batch once it is closed. */
import type { Segment, SegmentKind } from '../../core/trajectory/trajectory';

export class Row {
  readonly ids: number[];
  private readonly mask: number[];
  private readonly logp: number[];
  private readonly values: number[];
  /** Tokens the context began with, before anything was sampled. */
  readonly contextLength: number;

  constructor(context: readonly number[] = []) {
    this.ids = [...context];
    this.mask = context.map(() => 0);
    this.logp = context.map(() => 0);
    this.values = context.map(() => 0);
    this.contextLength = context.length;
  }

  append(id: number, mask: number, logp = 0, value = 0): void {
    this.ids.push(id);
    this.mask.push(mask);
    this.logp.push(logp);
    this.values.push(value);
  }

  /** @returns undefined for a row without a sampled token from `from` on: it is dropped and counted nowhere */
  segment(kind: SegmentKind, from: number): Segment | undefined {
    const mask = Uint8Array.from(this.mask);
    if (mask.fill(0, 0, from).indexOf(1) < 0) return undefined;
    const keep = (values: readonly number[]) => Float32Array.from(values).fill(0, 0, from);
    return {
      kind,
      ids: Uint16Array.from(this.ids),
      mask,
      contextLength: from,
      logp: keep(this.logp),
      values: keep(this.values),
      advantages: new Float32Array(this.ids.length),
      targets: new Float32Array(this.ids.length),
    };
  }
}
