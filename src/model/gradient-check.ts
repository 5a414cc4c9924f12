/** Two engines, one loss: do they agree on the gradient? Used by the tests, the page's "check gradients" cell and the CLI. */
import { LabError } from '../core/errors';
import type { LossOptions, ModelRole, PolicyEngine, UpdateBatch } from './engine';
import { parameterLayout } from './parameters';

/** Disagreement of two gradients of one optimiser step. */
export interface GradientCheck {
  /** Largest entry of `relativeErrors`; ∞ when a gradient holds a NaN or an infinity. */
  readonly maxRelativeError: number;
  /** Name of the parameter tensor it belongs to. */
  readonly worstParameter: string;
  /** By parameter name: ‖g_a − g_b‖ / max(‖g_b‖, 10⁻³ of the whole gradient's norm), Euclidean norms over the tensor. */
  readonly relativeErrors: ReadonlyMap<string, number>;
  /** |L_a − L_b| */
  readonly lossError: number;
}

/** A tensor whose gradient is smaller than this share of the whole is compared with the share: it may be exactly 0 in one
 *  engine and rounding in the other, and changes an update by no more than that. */
const FLOOR = 1e-3;

/**
 * Compares the gradients of two engines that hold the same parameters; nothing is applied.
 * @param engine the one under test, usually `webgpu`
 * @param reference usually `tfjs`
 * @param role which model of both
 * @throws `gradient-check.shape` when the engines hold different architectures
 */
export async function checkGradients(
  engine: PolicyEngine,
  reference: PolicyEngine,
  batch: UpdateBatch,
  loss: LossOptions,
  role: ModelRole = 'policy',
): Promise<GradientCheck> {
  const layout = parameterLayout(reference.shape);
  const a = await engine.gradient(role, batch, loss);
  const b = await reference.gradient(role, batch, loss);
  if (a.gradient.length !== layout.total || b.gradient.length !== layout.total)
    throw new LabError({
      code: 'gradient-check.shape',
      what: 'The two engines hold different architectures',
      expected: `${layout.total} parameters`,
      got: `${a.gradient.length} and ${b.gradient.length}`,
    });
  const floor = FLOOR * norm(b.gradient);
  const relativeErrors = new Map<string, number>();
  let maxRelativeError = 0;
  let worstParameter = layout.entries[0]!.name;
  for (const { name, offset, size } of layout.entries) {
    const mine = a.gradient.subarray(offset, offset + size);
    const theirs = b.gradient.subarray(offset, offset + size);
    const error = relative(norm(mine.map((g, i) => g - theirs[i]!)), Math.max(norm(theirs), floor));
    relativeErrors.set(name, error);
    if (error > maxRelativeError) {
      maxRelativeError = error;
      worstParameter = name;
    }
  }
  return { maxRelativeError, worstParameter, relativeErrors, lossError: Math.abs(a.stats.loss - b.stats.loss) };
}

function norm(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, x) => sum + x * x, 0));
}

/** error / scale, where 0 / 0 is agreement and anything not finite is disagreement. */
function relative(error: number, scale: number): number {
  if (error === 0) return 0;
  const ratio = error / scale;
  return Number.isFinite(ratio) ? ratio : Number.POSITIVE_INFINITY;
}
