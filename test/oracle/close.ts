/** Comparison that NaN cannot pass and that says where it failed. */
type Numbers = ArrayLike<number>;

/** Differences beyond absolute + relative · |want|; a NaN on either side is one. Null when there are none. */
export function difference(
  got: Numbers,
  want: Numbers,
  tolerance: { readonly absolute: number; readonly relative?: number },
): string | null {
  if (got.length !== want.length) return `length ${got.length}, expected ${want.length}`;
  let first = -1;
  let count = 0;
  let worst = 0;
  for (let i = 0; i < want.length; i++) {
    const error = Math.abs(got[i]! - want[i]!);
    if (error <= tolerance.absolute + (tolerance.relative ?? 0) * Math.abs(want[i]!)) continue;
    if (first < 0) first = i;
    count++;
    worst = Math.max(worst, Number.isNaN(error) ? Number.POSITIVE_INFINITY : error);
  }
  if (first < 0) return null;
  return `${count} of ${want.length} differ, first [${first}] got ${got[first]} expected ${want[first]}, worst ${worst}`;
}

/** Largest absolute difference; infinite when one is NaN. */
export function worstDifference(got: Numbers, want: Numbers): number {
  let worst = got.length === want.length ? 0 : Number.POSITIVE_INFINITY;
  for (let i = 0; i < want.length; i++) {
    const error = Math.abs(got[i]! - want[i]!);
    worst = error <= worst ? worst : Number.isNaN(error) ? Number.POSITIVE_INFINITY : error;
  }
  return worst;
}
