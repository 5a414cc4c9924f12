/**
 * Types of advantages and loss that core, kernels and engines share. Flat arrays only; `R` segments (rows of the
 * loss), `P` trainable (mask-1) tokens of all of them, `N` rollouts.
 */

/** Anything indexable that holds numbers: typed arrays of any width, or plain arrays. */
export type Numbers = ArrayLike<number>;

/** docs/algorithm.md section 3; `outcome` needs no values and is computed by `outcomeAdvantages`. */
export type AdvantageMode = 'paper' | 'uncorrected' | 'stitched' | 'last-only';

/** Trainable tokens of whole rollouts, as flat arrays. */
export interface AdvantageBatch {
  /** [P] values of trainable tokens, rows of a rollout in order. */
  readonly values: Float32Array;
  /** [R + 1] */
  readonly trainableStart: Uint32Array;
  /** [N + 1] rollout n owns rows rolloutStart[n] .. rolloutStart[n+1]. */
  readonly rolloutStart: Uint32Array;
  /** [N] terminal reward. */
  readonly rewards: Float32Array;
  /** [R] λ of each row (all equal within a rollout unless lambdaScope is `segment`). Pass float64: the rounding error of
   *  λ grows with the exponent. */
  readonly lambda: Float32Array | Float64Array;
}

export interface AdvantageOptions {
  readonly mode: AdvantageMode;
  readonly gamma: number;
  readonly valueTarget: 'local' | 'corrected';
}

export type LossNorm = 'token' | 'segment' | 'rollout' | 'split';

/** Loss of one optimiser step (docs/algorithm.md section 4). */
export interface LossOptions {
  /** `ppo`: clipped surrogate. `clone`: negative log-likelihood of the trainable tokens (behaviour cloning). */
  readonly objective: 'ppo' | 'clone';
  readonly lossNorm: LossNorm;
  /** false: summary tokens leave L_π, H, k3 and their denominators; they stay in L_V. */
  readonly trainSummary: boolean;
  /** Weight of the policy term: 1 for the policy, 0 for a separate critic. With entropyCoef and klCoef 0 too, the policy
   *  outputs are not read and the policy statistics are 0. */
  readonly policyCoef: number;
  /** c_V; 0 when the critic is separate and this is the policy: values are then not read and valueLoss is 0. */
  readonly valueCoef: number;
  /** c_H */
  readonly entropyCoef: number;
  /** β */
  readonly klCoef: number;
  /** ε */
  readonly clip: number;
  /** ε_v; 0 switches the value clip off. */
  readonly valueClip: number;
}

/** What the loss of one optimiser step reads besides the model's outputs; `UpdateBatch` satisfies it. */
export interface LossBatch {
  /** [R] 0 execution, 1 summary. */
  readonly kind: Numbers;
  /** [R] rollout number; rows of a rollout are neighbours. Only equality matters. */
  readonly rollout: Numbers;
  /** [R + 1] row r owns tokens trainableStart[r] .. trainableStart[r+1]. */
  readonly trainableStart: Numbers;
  /** [P] behaviour log-probs. */
  readonly oldLogp: Numbers;
  /** [P] advantages, already scaled. */
  readonly advantages: Numbers;
  /** [P] value targets. */
  readonly targets: Numbers;
  /** [P] values before the iteration's updates (for the value clip). */
  readonly oldValues: Numbers;
  /** [P] log-probs of the reference policy; required when klCoef > 0. */
  readonly referenceLogp?: Numbers;
}

/** Sums over one optimiser step, divided by the step-wide denominators. */
export interface UpdateStats {
  /** L, the whole loss. */
  readonly loss: number;
  readonly policyLoss: number;
  readonly valueLoss: number;
  /** Mean over policy tokens, nats. */
  readonly entropy: number;
  /** mean(ρ − 1 − ln ρ) over policy tokens. */
  readonly kl: number;
  /** Share of policy tokens with |ρ − 1| > ε. */
  readonly clipFraction: number;
  /** max |ρ − 1| over policy tokens. */
  readonly maxRatioError: number;
  /** Norm of the gradient before clipping. */
  readonly gradNorm: number;
  /** Policy tokens |M|. */
  readonly policyTokens: number;
  /** Tokens of L_V, |M_V|. */
  readonly valueTokens: number;
  /** Whether loss or gradient held a NaN or an infinity; the parameters are then left as they were. */
  readonly nonFinite: boolean;
}

/** What the loss alone knows of the statistics: all but the gradient norm. */
export type LossStats = Omit<UpdateStats, 'gradNorm'>;
