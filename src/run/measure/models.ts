/** The two models that are measured everywhere. */
import type { BenchModel } from '../../core/protocol/bench';
import { initialParameters } from '../../model/initialise';
import { type ModelShape, parameterLayout, tensorOf } from '../../model/parameters';

/** `quick`: the model of the learning presets. `d128`: large enough that matrix products dominate. */
export const measuredModels = {
  quick: { vocabulary: 256, dModel: 32, layers: 1, heads: 4, mlp: 64, positions: 128, previousToken: true },
  d128: { vocabulary: 256, dModel: 128, layers: 4, heads: 4, mlp: 512, positions: 128, previousToken: true },
} as const satisfies Record<BenchModel, ModelShape>;

export type MeasuredModel = BenchModel;

export const measuredModelNames = Object.keys(measuredModels) as MeasuredModel[];

/** A fresh policy, but with a value head that is not zero: every gradient is then at work. @returns flat parameters */
export function measuredParameters(shape: ModelShape): Float32Array<ArrayBuffer> {
  const flat = initialParameters(shape, 1, { copyInit: 0 });
  const head = tensorOf(flat, parameterLayout(shape), 'value_head.weight');
  head.forEach((_, i) => {
    head[i] = (i % 2 === 0 ? 1 : -1) / shape.dModel;
  });
  return flat;
}
