import { computeAdvantages as computeOnCpu } from '../../core/algorithm/advantages';
import { computeAdvantages as computeOnGpu } from '../../gpu/kernels/advantages';
import type { Command } from '../command';
import { parseAdvantageLine, scatter } from '../conformance';
import { answerLines, engineOption } from '../conformance-command';
import { advantageInput } from '../conformance-help';

/** `lab advantages`: Eq. 13–15 on the real kernel, one rollout a line. */
const advantages: Command = {
  name: 'advantages',
  summary: 'compute advantages and critic targets of rollouts, one JSON object per line in and out',
  usage: 'advantages [--engine gpu|cpu] < lines.jsonl',
  options: engineOption,
  input: advantageInput,
  async run(args) {
    await answerLines(args, async (text, line, device) => {
      const request = parseAdvantageLine(text, line);
      const { batch, options } = request;
      const context = await device();
      const result = context
        ? await computeOnGpu(
            context,
            {
              values: Float32Array.from(batch.values),
              trainableStart: Uint32Array.from(batch.trainableStart),
              rolloutStart: Uint32Array.from(batch.rolloutStart),
              rewards: Float32Array.from(batch.rewards),
              lambda: Float64Array.from(batch.lambda),
            },
            options,
          )
        : computeOnCpu(batch, options);
      return {
        advantages: scatter(request, result.advantages, line),
        targets: scatter(request, result.targets, line),
      };
    });
  },
};
export default advantages;
