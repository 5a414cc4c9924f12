import code from '../../../shaders/ppo-loss.wgsl?raw';
import type { LossOptions } from '../../core/algorithm/algorithm';
import { f32, type GpuSlice, type Kernel, type KernelDescriptor, type Recorder } from '../kernel';
import { laneGrid } from './grid';

export const ppoLoss: KernelDescriptor = {
  name: 'ppo-loss',
  code,
  bindings: ['read', 'read', 'read', 'read', 'write', 'write', 'write', 'write', 'params'],
};

/** Buffers of `encodePpoLoss`. Outputs of the model and gradients are those of a micro-batch, or of the whole step. */
export interface PpoLossSlices {
  /** log π of each token. */
  readonly logp: GpuSlice;
  /** Entropy of the full softmax, nats. */
  readonly entropy: GpuSlice;
  readonly values: GpuSlice;
  /** Whole step, see `packLossPlanes` and `encodeLossWeights`. */
  readonly planes: GpuSlice;
  /** dL/dlogp. Written for every token of the range; 0 where a term is off or a token is left out. */
  readonly gradLogp: GpuSlice;
  /** dL/dH. */
  readonly gradEntropy: GpuSlice;
  /** dL/dV. */
  readonly gradValues: GpuSlice;
  /** Whole step, per-token records for `encodeReduceStats`. */
  readonly stats: GpuSlice;
}

export interface PpoLossRange {
  /** Trainable tokens P of the whole step. */
  readonly tokens: number;
  /** First token of the micro-batch, counted in the step. */
  readonly first: number;
  /** Tokens of the micro-batch. */
  readonly count: number;
  /** Entry of `logp`, `entropy`, `values` and the gradients that belongs to token `first`: 0 for buffers of a
   *  micro-batch, `first` for buffers of the whole step. */
  readonly modelOffset: number;
}

/** Whether L_π, H or k3 is in the loss; when not, log-probs and entropies are not read. */
export function hasPolicyTerms(options: LossOptions): boolean {
  return options.policyCoef !== 0 || options.entropyCoef !== 0 || options.klCoef !== 0;
}

/**
 * Loss and gradients of the tokens first .. first + count of a step.
 * Source: Eq. 11–12, docs/algorithm.md section 4.
 */
export function encodePpoLoss(
  recorder: Recorder,
  kernel: Kernel,
  slices: PpoLossSlices,
  range: PpoLossRange,
  options: LossOptions,
): void {
  const { workgroups, gridWidth } = laneGrid(range.count);
  const flags =
    (options.objective === 'clone' ? 1 : 0) |
    (hasPolicyTerms(options) ? 2 : 0) |
    (options.valueCoef !== 0 ? 4 : 0) |
    (options.klCoef !== 0 ? 8 : 0);
  recorder.dispatch(
    kernel,
    [
      slices.logp,
      slices.entropy,
      slices.values,
      slices.planes,
      slices.gradLogp,
      slices.gradEntropy,
      slices.gradValues,
      slices.stats,
    ],
    [
      range.count,
      range.first,
      range.modelOffset,
      range.tokens,
      flags,
      gridWidth,
      f32(options.policyCoef),
      f32(options.valueCoef),
      f32(options.entropyCoef),
      f32(options.klCoef),
      f32(options.clip),
      f32(options.valueClip),
    ],
    workgroups,
  );
}
