/**
 * The one table of configuration keys. The control on the page, the codec of shared links, the command line's `--set`,
 * the validation and the documentation are all derived from it.
 */

interface KeyBase {
  /** Which group of controls the key belongs to. */
  readonly group: ConfigGroup;
  /** Short human label. */
  readonly label: string;
  /** One or two sentences: what it does, unit, source. */
  readonly help: string;
}
export interface NumberKey extends KeyBase {
  readonly type: 'integer' | 'number';
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly unit?: string;
}
export interface BooleanKey extends KeyBase {
  readonly type: 'boolean';
  readonly default: boolean;
}
export interface ChoiceKey<T extends string = string> extends KeyBase {
  readonly type: 'choice';
  readonly default: T;
  readonly options: readonly T[];
  /** How options are shown; an option without a name is shown as it is written. */
  readonly names?: Readonly<Partial<Record<T, string>>>;
}
export type ConfigKey = NumberKey | BooleanKey | ChoiceKey;
export type ConfigGroup =
  | 'task'
  | 'context'
  | 'model'
  | 'rollout'
  | 'credit'
  | 'loss'
  | 'optimiser'
  | 'evaluation'
  | 'engine';

const integer = (
  group: ConfigGroup,
  label: string,
  value: number,
  min: number,
  max: number,
  help: string,
  unit?: string,
): NumberKey => ({ type: 'integer', group, label, default: value, min, max, help, unit });
const number = (
  group: ConfigGroup,
  label: string,
  value: number,
  min: number,
  max: number,
  help: string,
  unit?: string,
): NumberKey => ({ type: 'number', group, label, default: value, min, max, help, unit });
const boolean = (group: ConfigGroup, label: string, value: boolean, help: string): BooleanKey => ({
  type: 'boolean',
  group,
  label,
  default: value,
  help,
});
const choice = <const T extends readonly string[]>(
  group: ConfigGroup,
  label: string,
  options: T,
  value: NoInfer<T[number]>,
  help: string,
  names?: Readonly<Partial<Record<NoInfer<T[number]>, string>>>,
): ChoiceKey<T[number]> => ({ type: 'choice', group, label, options, default: value, help, names });

export const configTable = {
  // Task
  suite: choice(
    'task',
    'Tasks',
    ['terminal', 'code', 'chain', 'collect', 'manifest', 'repair'],
    'chain',
    'Task suite, or a single task family. terminal = chain, collect, manifest; code = repair.',
  ),
  difficultyMin: integer('task', 'Shortest task', 2, 1, 16, 'Smallest difficulty drawn; it sets the horizon.'),
  difficultyMax: integer('task', 'Longest task', 8, 1, 16, 'Largest difficulty drawn.'),
  turnSlack: integer(
    'task',
    'Spare turns',
    3,
    0,
    64,
    'Turn limit = turns an expert with perfect memory needs + this. Losing a fact must cost turns, and turns must be scarce.',
    'turns',
  ),
  fractionalReward: boolean(
    'task',
    'Fractional reward',
    false,
    'Reward the share of checks that pass instead of 0 or 1. Success always means every check passed.',
  ),
  // Context
  compaction: choice(
    'context',
    'Compaction',
    ['summary', 'none'],
    'summary',
    'Whether a full context is replaced by a summary the policy writes (Eq. 7–9), or the rollout ends there.',
  ),
  window: integer('context', 'Window', 64, 24, 1024, 'Context budget C.', 'tokens'),
  trainWindowScale: integer(
    'context',
    'Training window',
    1,
    1,
    2,
    'Training rollouts happen in this many times the window, for arms trained with more room; evaluations do not change.',
    '× window',
  ),
  compactThreshold: integer(
    'context',
    'Compact below',
    0,
    0,
    1024,
    'T_comp: compact when fewer tokens than this are left after a step. 0 = the smallest safe reserve: action cap + observation cap + summary request + summary cap.',
    'tokens',
  ),
  actionCap: integer(
    'context',
    'Action cap',
    8,
    2,
    128,
    'Most tokens of one command, end-of-command token included.',
    'tokens',
  ),
  observationCap: integer(
    'context',
    'Observation cap',
    16,
    2,
    512,
    'Most tokens of one observation, cut mark and next prompt included. Longer output is cut with a visible mark.',
    'tokens',
  ),
  summaryCap: integer(
    'context',
    'Summary cap',
    12,
    2,
    512,
    'Most tokens of one summary, its stop token included.',
    'tokens',
  ),
  maxCompactions: integer('context', 'Most compactions', 3, 0, 64, 'M: no compaction after this many (paper: 3).'),
  tailSteps: integer(
    'context',
    'Verbatim tail',
    2,
    0,
    16,
    'k: last steps copied verbatim behind the summary (paper: 2); lowered until the reserve fits.',
    'steps',
  ),
  keepTask: boolean(
    'context',
    'Keep the task text',
    false,
    'Add the task text again after a compaction. Off in the paper: the summary must carry it.',
  ),
  // Model
  base: choice(
    'model',
    'Base policy',
    ['chain-small', 'chain-verbose', 'terminal-small', 'code-small', 'terminal-large', 'code-large', 'random'],
    'chain-small',
    'Warm-started checkpoint the run begins from. chain-small and chain-verbose have seen chains only, the others their suite; small: d 32, 2 layers, large: d 64, 2 layers. random = freshly initialised (learns nothing in reasonable time).',
  ),
  warmStart: integer(
    'model',
    'Warm start',
    1,
    1,
    16,
    'Which copy of the base: each was warm-started on its own, from another seed. Experiments spread their seeds over them.',
  ),
  dModel: integer('model', 'Width', 32, 8, 512, 'Residual width d. Must equal the base checkpoint’s.'),
  layers: integer('model', 'Layers', 1, 1, 12, 'Transformer blocks.'),
  heads: integer('model', 'Heads', 4, 1, 16, 'Attention heads.'),
  mlp: integer('model', 'MLP width', 64, 8, 2048, 'Hidden width of the MLP.'),
  previousToken: boolean(
    'model',
    'Previous-token embedding',
    true,
    'Adds an embedding of the token before; lets a one-layer model copy facts.',
  ),
  // Rollout
  episodes: integer('rollout', 'Episodes', 64, 1, 4096, 'Training rollouts per iteration.'),
  iterations: integer('rollout', 'Iterations', 60, 1, 10000, 'PPO iterations.'),
  envTokenBudget: integer(
    'rollout',
    'Token budget',
    0,
    0,
    1_000_000_000,
    'Training ends with the iteration in which this many tokens have been fed in training rollouts, so that arms with short and with long episodes are compared at the same cost; the learning rate then decays with the share that is spent. 0 = off.',
    'tokens',
  ),
  groupSize: integer(
    'rollout',
    'Group size',
    1,
    1,
    256,
    'Rollouts of the same task instance per iteration. Must be > 1 for the outcome advantage and divide the episodes.',
  ),
  attempts: integer(
    'rollout',
    'Attempts',
    1,
    1,
    8,
    'Most attempts at a task: after a failure it is tried again in a fresh environment, as a rollout of its own. Episodes count tasks, not attempts; an evaluation counts a task as solved when any attempt solved it.',
  ),
  retryNote: choice(
    'rollout',
    'Note between attempts',
    ['none', 'written'],
    'written',
    'written = after a failed attempt the policy writes a note, which stands before the next attempt and is trained by that one’s reward. none = attempts know nothing of each other.',
  ),
  // Credit
  advantage: choice(
    'credit',
    'Advantage',
    ['paper', 'uncorrected', 'stitched', 'last-only', 'outcome'],
    'paper',
    'How reward reaches the tokens. paper = Eq. 13–14; see docs/algorithm.md section 3.',
  ),
  gamma: number('credit', 'Discount γ', 1, 0, 1, 'Discount per trainable token.'),
  lambdaScope: choice(
    'credit',
    'λ scope',
    ['rollout', 'segment', 'fixed'],
    'rollout',
    'Length-adaptive λ = 1 − 1/(1.5·l) with l counted over the rollout or the segment, or the fixed λ below.',
  ),
  lambda: number('credit', 'Fixed λ', 0.98, 0, 1, 'GAE λ when the λ scope is fixed.'),
  advantageScale: choice(
    'credit',
    'Advantage scale',
    ['none', 'rms'],
    'none',
    'rms = divide by max(root mean square over policy tokens, 0.2). Never subtracts the mean. Not applied to the outcome advantage, which is normalised already.',
  ),
  valueTarget: choice(
    'credit',
    'Value target',
    ['local', 'corrected'],
    'local',
    'Critic target: advantage before (local) or after (corrected) the cross-trajectory factor, plus V.',
  ),
  // Loss
  lossNorm: choice(
    'loss',
    'Loss normalisation',
    ['token', 'segment', 'rollout', 'split'],
    'token',
    'Denominator of the policy loss. token = Eq. 11–12: all trainable tokens of the optimiser step.',
  ),
  trainSummary: choice(
    'loss',
    'Train summaries',
    ['true', 'masked', 'frozen'],
    'true',
    'Train the summary tokens (true), leave them out of the policy loss (masked), or let a frozen base policy write them (frozen).',
    { true: 'yes', frozen: 'frozen writer' },
  ),
  clip: number('loss', 'Clip ε', 0.2, 0.001, 1, 'PPO ratio clip.'),
  valueClip: number('loss', 'Value clip', 0, 0, 10, 'ε_v of the value loss; 0 = off.'),
  entropyCoef: number('loss', 'Entropy bonus', 0, 0, 1, 'c_H.'),
  klCoef: number('loss', 'KL to base', 0, 0, 10, 'β of the k3 estimate of KL to the base policy.'),
  critic: choice(
    'loss',
    'Critic',
    ['separate', 'shared'],
    'separate',
    'A separate value model started from the policy (paper), or a value head on the policy’s trunk.',
  ),
  valueCoef: number('loss', 'Value coefficient', 0.5, 0, 10, 'c_V; used when the critic is shared.'),
  // Optimiser
  learningRate: number('optimiser', 'Learning rate', 0.002, 0, 0.1, 'Adam, policy.'),
  learningRateEnd: number(
    'optimiser',
    'Final learning rate',
    0.1,
    0,
    1,
    'Share of the learning rate that its linear decay reaches after the last iteration.',
  ),
  criticLearningRate: number('optimiser', 'Critic learning rate', 0.002, 0, 0.1, 'Adam, separate critic.'),
  epochs: integer('optimiser', 'Epochs', 1, 1, 16, 'Passes over an iteration’s rollouts.'),
  minibatches: integer('optimiser', 'Minibatches', 2, 1, 64, 'Optimiser steps per epoch; each holds whole rollouts.'),
  valueUpdates: integer(
    'optimiser',
    'Value updates',
    2,
    0,
    32,
    'Critic epochs per policy epoch (separate critic; paper: 2).',
  ),
  valuePretrain: integer(
    'optimiser',
    'Value pretraining',
    50,
    0,
    1000,
    'Critic steps on the first iteration’s rollouts before the first policy update (separate critic; paper: 50).',
    'steps',
  ),
  gradClip: number('optimiser', 'Gradient clip', 1, 0, 1000, 'Global norm; 0 = off.'),
  adamBeta1: number('optimiser', 'Adam β₁', 0.9, 0, 0.9999, ''),
  adamBeta2: number('optimiser', 'Adam β₂', 0.999, 0, 0.999999, ''),
  adamEpsilon: number('optimiser', 'Adam ε', 1e-8, 1e-12, 0.01, ''),
  klLimit: number(
    'optimiser',
    'KL limit',
    0.2,
    0,
    100,
    'Stop the iteration’s updates and raise an alarm when the KL of an update exceeds this; 0 = off.',
    'nats',
  ),
  // Evaluation
  evalEvery: integer(
    'evaluation',
    'Evaluate every',
    5,
    0,
    1000,
    'Iterations between evaluations on held-out tasks; 0 = only at the end.',
  ),
  evalEpisodes: integer(
    'evaluation',
    'Evaluation episodes',
    256,
    1,
    10000,
    'Held-out episodes of a periodic evaluation.',
  ),
  finalEvalEpisodes: integer(
    'evaluation',
    'Final evaluation',
    1024,
    1,
    100000,
    'Held-out episodes of the final evaluation.',
  ),
  // Engine
  engine: choice(
    'engine',
    'Engine',
    ['webgpu', 'tfjs', 'jax'],
    'webgpu',
    'webgpu = our kernels. tfjs = the reference written in TensorFlow.js; far slower. jax = written in jax-js; needs no graphics adapter, and runs where there is none.',
  ),
  kernels: choice(
    'engine',
    'Kernels',
    ['auto', 'default'],
    'auto',
    'auto = the variants of our kernels that were fastest in a short measurement on this device, which is kept and stored with the run. default = no measurement. Results agree up to rounding.',
    { auto: 'measured' },
  ),
  microBatchTokens: integer(
    'engine',
    'Micro-batch',
    8192,
    64,
    262144,
    'Most tokens per forward/backward pass; changes memory, not the gradient. Measured kernels may lower it, so that no piece of work occupies the device for long.',
    'tokens',
  ),
  terminalWorkers: integer(
    'engine',
    'Terminal workers',
    2,
    1,
    16,
    'Worker threads that run shells; the results do not depend on it.',
  ),
} as const satisfies Record<string, ConfigKey>;

export type ConfigName = keyof typeof configTable;
