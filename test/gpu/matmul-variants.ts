/** Matrix product kernels that take the same arguments and compute the same: one table for all their tests. */
import { encodeMatmul, matmul } from '../../src/gpu/kernels/matmul';
import { encodeMatmulInputGradient, matmulInputGradient } from '../../src/gpu/kernels/matmul-input-gradient';
import {
  encodeMatmulInputGradientTiled,
  matmulInputGradientTiled,
} from '../../src/gpu/kernels/matmul-input-gradient-tiled';
import { encodeMatmulTiled, matmulTiled } from '../../src/gpu/kernels/matmul-tiled';
import { encodeMatmulWeightGradient, matmulWeightGradient } from '../../src/gpu/kernels/matmul-weight-gradient';
import {
  encodeMatmulWeightGradientTiled,
  matmulWeightGradientTiled,
} from '../../src/gpu/kernels/matmul-weight-gradient-tiled';

export const variants = {
  registers: {
    product: [matmul, encodeMatmul],
    inputGradient: [matmulInputGradient, encodeMatmulInputGradient],
    weightGradient: [matmulWeightGradient, encodeMatmulWeightGradient],
  },
  tiled: {
    product: [matmulTiled, encodeMatmulTiled],
    inputGradient: [matmulInputGradientTiled, encodeMatmulInputGradientTiled],
    weightGradient: [matmulWeightGradientTiled, encodeMatmulWeightGradientTiled],
  },
} as const;

export const variantNames = Object.keys(variants) as (keyof typeof variants)[];
