/** Forward pass without gradient. */
import { Recorder, readBack } from '../../gpu/kernel';
import type { PackedRows, Scores } from '../engine';
import { checkRows } from './check-rows';
import { encodeBlock, encodeHead, headRanges, type PassContext } from './forward';
import type { ModelBuffers } from './model-buffers';
import type { StepContext } from './optimiser-step';
import { planStep } from './step-plan';

/** Log-prob, entropy and value of every trainable token. */
export async function runScore(step: StepContext, model: ModelBuffers, rows: PackedRows): Promise<Scores> {
  const { context, shape, kernels, workspace, microBatchTokens } = step;
  checkRows(rows, shape);
  const tokens = rows.trainable.length;
  if (tokens === 0) return { logp: new Float32Array(0), entropy: new Float32Array(0), values: new Float32Array(0) };
  const plan = planStep(rows, shape, { microBatchTokens, gradient: false });
  const headChunk = workspace.headChunk(plan);
  const pass: PassContext = {
    shape,
    kernels,
    parameters: model.parameters,
    plan,
    words: workspace.uploadPlan(plan),
  };
  const layers = workspace.layers(plan.maxTokens);
  const hidden = workspace.output(plan.maxTokens);
  const head = workspace.head(headChunk);
  const outputs = workspace.outputs(tokens);
  for (const micro of plan.microBatches) {
    if (micro.count === 0) continue;
    layers.forEach((_, l) => {
      const recorder = new Recorder(context, `score block ${l}`);
      encodeBlock(recorder, pass, micro, layers, hidden, l);
      recorder.submit();
    });
    for (const range of headRanges(micro, headChunk)) {
      const recorder = new Recorder(context, 'score head');
      encodeHead(recorder, pass, range, { hidden, head, outputs }, { policy: true, value: true });
      recorder.submit();
    }
  }
  const [logp, entropy, values] = await readBack(context, [outputs.logp, outputs.entropy, outputs.values]);
  const floats = (bytes: ArrayBuffer | undefined) => new Float32Array(bytes!, 0, tokens);
  return { logp: floats(logp), entropy: floats(entropy), values: floats(values) };
}
