/** Whether a variant computes what the plain one does. */

/**
 * Largest difference, as a share of the plain variant's largest number. Variants add the same float32 terms in another order:
 * some 1e-6 for the lengths summed here. Lanes that did not reconverge miss whole terms, and differ by far more.
 */
export const AGREEMENT = 1e-4;

/** @param plain what the plain variant gave @returns false also where either holds a NaN or an infinity */
export function agrees(plain: ArrayLike<number>, got: ArrayLike<number>): boolean {
  if (plain.length !== got.length) return false;
  let [most, worst] = [0, 0];
  for (let i = 0; i < plain.length; i++) {
    const [a, b] = [plain[i]!, got[i]!];
    if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
    most = Math.max(most, Math.abs(a));
    worst = Math.max(worst, Math.abs(a - b));
  }
  return worst <= AGREEMENT * most;
}
