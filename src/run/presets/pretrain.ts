/** Warm start: behaviour cloning of the scripted expert, who writes lossy summaries. */
import { parseConfig, positionsOf, type RunConfig } from '../../core/config/config';
import { RandomStream } from '../../core/rng';
import type { Rollout } from '../../core/trajectory/trajectory';
import { lossySummary } from '../../env/demonstration';
import type { TerminalPool } from '../../env/pool';
import type { LossOptions, PolicyEngine } from '../../model/engine';
import type { ModelShape } from '../../model/parameters';
import { expert, playScripted, setupOf } from '../expert/expert';
import { packRollouts, selectRollouts } from '../learn/batch';
import type { Gate } from '../rollout/rollout';
import { drawTasks } from '../rollout/tasks';
import type { Recipe } from './recipes';

export interface PretrainOptions {
  readonly engine: PolicyEngine;
  readonly pool: TerminalPool;
  readonly recipe: Recipe;
  readonly seed: number;
  readonly gate: Gate;
  readonly onStep: (step: PretrainStep) => void;
}

export interface PretrainStep {
  readonly step: number;
  readonly steps: number;
  /** Mean negative log-likelihood of the expert's tokens, nats. */
  readonly loss: number;
  /** Tokens fed so far. */
  readonly tokens: number;
  /** Share of the demonstrations that solved their task. */
  readonly demonstrationSuccess: number;
}

/** The recipe's full configuration. */
export function recipeConfig(recipe: Recipe): RunConfig {
  return parseConfig(recipe.config);
}

/** The architecture of a configuration. `positions` may be larger than the configuration needs. */
export function shapeOf(config: RunConfig, vocabulary: number, positions = positionsOf(config)): ModelShape {
  const { dModel, layers, heads, mlp, previousToken } = config;
  return { vocabulary, dModel, layers, heads, mlp, previousToken, positions };
}

const cloneLoss: LossOptions = {
  objective: 'clone',
  lossNorm: 'token',
  trainSummary: true,
  policyCoef: 1,
  valueCoef: 0,
  entropyCoef: 0,
  klCoef: 0,
  clip: 0.2,
  valueClip: 0,
};

const WARM_UP = 30;

/** Warm-up over 30 steps, constant, then linear decay to 5 % over the last 30 %. */
export function cloneRate(recipe: Recipe, step: number): number {
  const { steps, learningRate } = recipe;
  const share =
    step < WARM_UP ? (step + 1) / WARM_UP : step > 0.7 * steps ? Math.max(0.05, (steps - step) / (0.3 * steps)) : 1;
  return learningRate * share;
}

/** Trains the engine's `policy`, which the caller has initialised. */
export async function pretrain(options: PretrainOptions): Promise<void> {
  const { engine, recipe, gate, onStep } = options;
  let tokens = 0;
  const draw = recipe.corpus === undefined ? null : await corpusOf(recipe.corpus, options);
  for (let step = 0; step < recipe.steps; step++) {
    await gate();
    const rollouts = draw
      ? draw(step)
      : await demonstrations(step * recipe.demonstrations, recipe.demonstrations, options);
    const rows = packRollouts(rollouts);
    tokens += rows.ids.length;
    const zeros = new Float32Array(rows.trainable.length);
    const all = rollouts.map((_, n) => n);
    const batch = selectRollouts(rows, { oldLogp: zeros, advantages: zeros, targets: zeros, oldValues: zeros }, all);
    const stats = await engine.update('policy', batch, cloneLoss, {
      learningRate: cloneRate(recipe, step),
      beta1: 0.9,
      beta2: 0.99,
      epsilon: 1e-8,
      gradClip: 1,
    });
    const solved = rollouts.filter((r) => r.solved).length;
    onStep({
      step: step + 1,
      steps: recipe.steps,
      loss: stats.policyLoss,
      tokens,
      demonstrationSuccess: solved / rollouts.length,
    });
  }
}

/** Plays the corpus; returns who takes one step's share of it: every demonstration once a pass, in a new order each time. */
async function corpusOf(size: number, options: PretrainOptions): Promise<(step: number) => Rollout[]> {
  const { recipe, seed } = options;
  const all = await demonstrations(0, size, options);
  const perPass = Math.floor(size / recipe.demonstrations);
  let order: Rollout[] = [];
  return (step) => {
    const at = step % perPass;
    if (at === 0) order = new RandomStream(seed, 'shuffle', step / perPass).shuffle(all);
    return order.slice(at * recipe.demonstrations, (at + 1) * recipe.demonstrations);
  };
}

/** Demonstrations of the tasks from a number on; of each step's worth the last ones are played in twice the window. */
async function demonstrations(from: number, count: number, options: PretrainOptions): Promise<Rollout[]> {
  const { recipe, seed, pool, gate } = options;
  const { compactShare = 0 } = recipe;
  const config = recipeConfig(recipe);
  const wide: RunConfig = { ...config, window: 2 * config.window };
  const wideFrom = Math.round(recipe.demonstrations * (1 - recipe.wideShare));
  const streams = Array.from({ length: count }, (_, i) => new RandomStream(seed, 'demonstration', from + i));
  const setups = drawTasks(config, seed, 'train', from, count).map((task, i) =>
    setupOf(task, i, i % recipe.demonstrations < wideFrom ? config : wide),
  );
  return playScripted(setups, pool, gate, {
    ...expert,
    compacts: (i) => compactShare > 0 && streams[i]!.uniform() < compactShare,
    summarise: (facts, i) =>
      lossySummary(facts, streams[i]!, {
        keep: recipe.keep,
        ordered: recipe.ordered ?? false,
        junkMax: recipe.junkMax,
        // The stop token must be inside what is sampled, or it would never be learned.
        maxTokens: config.summaryCap - 2,
      }),
  });
}
