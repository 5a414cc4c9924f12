/** What shapes the kernels can hold, checked once when an engine is made. */
import { LabError } from '../../core/errors';
import { MAX_OUTPUTS } from '../../gpu/kernels/weight-windows';
import type { ModelShape } from '../parameters';

/** Widest head: query, key, value and their gradients are private arrays of a lane. */
const MAX_HEAD_WIDTH = 128;

/**
 * @throws `model.shape` naming the key, when the kernels cannot hold the shape
 */
export function checkShape(shape: ModelShape): void {
  const { vocabulary, dModel, layers, heads, mlp, positions } = shape;
  const reject = (where: string, expected: string, got: number): never => {
    throw new LabError({
      code: 'model.shape',
      what: 'The WebGPU engine cannot hold a model of this shape',
      where,
      expected,
      got: String(got),
      fix: 'Choose another size: the kernels read four floats at a time.',
    });
  };
  for (const [key, value] of Object.entries({ vocabulary, dModel, layers, heads, mlp, positions }))
    if (!Number.isInteger(value) || value < 1) reject(key, 'a positive integer', value);
  if (dModel % (4 * heads) !== 0) reject('dModel', `a multiple of 4 × heads (${4 * heads})`, dModel);
  if (dModel / heads > MAX_HEAD_WIDTH) reject('heads', `heads of width ≤ ${MAX_HEAD_WIDTH}`, dModel / heads);
  if (3 * dModel > MAX_OUTPUTS) reject('dModel', `at most ${Math.floor(MAX_OUTPUTS / 3)}`, dModel);
  for (const [key, value] of Object.entries({ mlp, vocabulary })) {
    if (value % 4 !== 0) reject(key, 'a multiple of 4', value);
    if (value > MAX_OUTPUTS) reject(key, `at most ${MAX_OUTPUTS}`, value);
  }
}
