import { stepLoss } from '../../core/algorithm/loss';
import { computeStepLoss } from '../../gpu/loss-step';
import type { Command } from '../command';
import { finiteResult, parseLossLine, scatter } from '../conformance';
import { answerLines, engineOption } from '../conformance-command';
import { lossInput } from '../conformance-help';

/** `lab loss`: the policy term L_π of one optimiser step on the real kernels, one step a line. */
const loss: Command = {
  name: 'loss',
  summary: 'compute the policy loss of optimiser steps and its gradient, one JSON object per line in and out',
  usage: 'loss [--engine gpu|cpu] < lines.jsonl',
  options: engineOption,
  input: lossInput,
  async run(args) {
    await answerLines(args, async (text, line, device) => {
      const request = parseLossLine(text, line);
      const { batch, logp, options } = request;
      const context = await device();
      const zeros = new Float32Array(logp.length);
      const result = context
        ? await computeStepLoss(context, batch, { logp, entropy: zeros, values: zeros }, options)
        : stepLoss(batch, logp, zeros, zeros, options);
      return {
        loss: finiteResult(result.stats.policyLoss, line, 'loss'),
        gradLogp: scatter(request, result.gradLogp, line),
      };
    });
  },
};
export default loss;
