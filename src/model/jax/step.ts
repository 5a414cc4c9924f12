/** Scores and whole-step gradients: rectangles through the compiled functions of gradient.ts, summed. */
import { jit, tree } from '@jax-js/jax';
import type { LossOptions } from '../../core/algorithm/algorithm';
import { policyWeights } from '../../core/algorithm/loss';
import type { StepGradient } from '../autodiff/engine';
import { emptyScores, scatterScores } from '../autodiff/scores';
import type { PackedRows, Scores, UpdateBatch } from '../engine';
import type { ModelShape } from '../parameters';
import { type ArrayMaker, read } from './device';
import { gradientRectangle, type Rectangle, scoreRectangle } from './gradient';
import type { LossColumns } from './loss';
import type { ModelState } from './model-state';
import type { Weights } from './policy';
import { type PaddedShape, rectanglesOf } from './rectangles';

type GradientFunction = (
  weights: Weights,
  sums: Weights,
  rectangle: Rectangle,
  columns: LossColumns,
) => ReturnType<typeof gradientRectangle>;

/** The compiled passes of one model shape. */
export class Passes {
  private readonly score: (weights: Weights, rectangle: Rectangle) => ReturnType<typeof scoreRectangle>;
  /** One per loss: its coefficients and clips are constants of the compiled function. */
  private readonly gradients = new Map<string, GradientFunction>();

  /** @param limit tokens of a rectangle, padding included */
  constructor(
    private readonly shape: ModelShape,
    private readonly make: ArrayMaker,
    private readonly limit: number,
  ) {
    this.score = jit((weights: Weights, rectangle: Rectangle) => scoreRectangle(shape, weights, rectangle));
  }

  /** Forward pass without gradient. */
  async scoreRows(model: ModelState, rows: PackedRows): Promise<Scores> {
    const scores = emptyScores(rows.trainable.length);
    for (const part of rectanglesOf(rows, this.limit, this.shape.positions)) {
      const report = await read(this.score(tree.ref(model.weights), this.upload(part)));
      scatterScores(scores, part.padded.trainable, report, part.tokens);
    }
    return scores;
  }

  /** Gradient of the loss of a whole optimiser step; nothing is applied. */
  async stepGradient(model: ModelState, batch: UpdateBatch, options: LossOptions): Promise<StepGradient<Weights>> {
    const scores = emptyScores(batch.trainable.length);
    let gradients = model.zeros();
    const { policyCoef, valueCoef, entropyCoef, klCoef } = options;
    if ([policyCoef, valueCoef, entropyCoef, klCoef].every((c) => c === 0)) return { gradients, loss: 0, scores };
    const pass = this.gradientFunction(options);
    const columnsOf = this.columnMaker(batch, options);
    let loss = 0;
    for (const part of rectanglesOf(batch, this.limit, this.shape.positions)) {
      const result = pass(tree.ref(model.weights), gradients, this.upload(part), columnsOf(part));
      gradients = result.sums;
      const report = await read(result.report);
      scatterScores(scores, part.padded.trainable, report, part.tokens);
      loss += report[report.length - 1]!;
    }
    return { gradients, loss, scores };
  }

  private gradientFunction(options: LossOptions): GradientFunction {
    // The norm and the choice of tokens are in the weights of the tokens.
    const { lossNorm: _, trainSummary: __, ...constants } = options;
    const key = JSON.stringify(Object.entries(constants).sort());
    let found = this.gradients.get(key);
    if (!found) {
      const { shape } = this;
      found = jit((weights: Weights, sums: Weights, rectangle: Rectangle, columns: LossColumns) =>
        gradientRectangle(shape, options, weights, sums, rectangle, columns),
      );
      this.gradients.set(key, found);
    }
    return found;
  }

  private upload({ padded, tokens }: PaddedShape): Rectangle {
    const { rows, length, ids, previous, source } = padded;
    const inverse = new Int32Array(rows * length).fill(tokens);
    source.forEach((place, i) => {
      inverse[place] = i;
    });
    return {
      ids: this.make.of(ids, [rows, length]),
      previous: this.make.of(previous, [rows, length]),
      source: this.make.of(grown(source, tokens)), // padding reads place 0; its weights are 0
      inverse: this.make.of(inverse),
      targets: this.make.of(grown(padded.targets, tokens)),
    };
  }

  /** The step-wide weights are computed once; each rectangle then takes its tokens' share. */
  private columnMaker(batch: UpdateBatch, options: LossOptions): (part: PaddedShape) => LossColumns {
    const weights = policyWeights(batch, options);
    const valueWeight = 1 / Math.max(1, batch.trainable.length); // |M_V|: all trainable tokens, under every norm
    return ({ padded: { trainable }, tokens }) => {
      const column = (of: (p: number) => number) => {
        const values = new Float32Array(tokens);
        trainable.forEach((p, i) => {
          values[i] = of(p);
        });
        return this.make.of(values);
      };
      return {
        policyWeight: column((p) => weights[p]!),
        valueWeight: column(() => valueWeight),
        oldLogp: column((p) => batch.oldLogp[p]!),
        advantages: column((p) => batch.advantages[p]!),
        targets: column((p) => batch.targets[p]!),
        oldValues: column((p) => batch.oldValues[p]!),
        referenceLogp: column((p) => batch.referenceLogp?.[p] ?? 0),
      };
    };
  }
}

function grown(values: Int32Array, length: number): Int32Array {
  const out = new Int32Array(length);
  out.set(values);
  return out;
}
