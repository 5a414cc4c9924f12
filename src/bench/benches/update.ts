/** One PPO optimiser step of our engine, as a share of the best matrix product of the same run. */
import type { GpuContext } from '../../gpu/device';
import { createWebGpuEngine } from '../../model/webgpu/engine';
import { updateFlops } from '../../run/measure/flops';
import { bestOf, largeProducts, sweepProducts } from '../../run/measure/matmul-rate';
import { type MeasuredModel, measuredModelNames, measuredModels } from '../../run/measure/models';
import { alternate, mapSpread, type Spread } from '../../run/measure/rounds';
import { batchTokens, startUpdate } from '../../run/measure/workloads';
import { integerOption, namesOption } from '../arguments';
import type { Bench } from '../bench';
import { withDevice } from '../device';
import { digits, spreadText } from '../table';

interface UpdateRate {
  readonly tokens: number;
  readonly trainable: number;
  /** Of one step by the model's formula. */
  readonly flops: number;
  readonly tokensPerSecond: Spread;
  readonly gflops: Spread;
}

async function measure(context: GpuContext, model: MeasuredModel, rounds: number): Promise<UpdateRate> {
  const shape = measuredModels[model];
  const engine = await createWebGpuEngine(context, shape);
  try {
    const { batch, run } = await startUpdate(engine, batchTokens[model]);
    const { ms } = await alternate({ ms: run }, rounds);
    const flops = updateFlops(shape, batch);
    const tokens = batch.ids.length;
    return {
      tokens,
      trainable: batch.trainable.length,
      flops,
      tokensPerSecond: mapSpread(ms, (t) => (tokens / t) * 1000),
      gflops: mapSpread(ms, (t) => flops / t / 1e6),
    };
  } finally {
    engine.dispose();
  }
}

const update: Bench = {
  name: 'update',
  summary: 'tokens/s and GFLOP/s of a PPO optimiser step, beside the roofline of the same run',
  options: {
    model: { help: `${measuredModelNames.join(', ')} (default all)` },
    rounds: { help: 'measured steps (default 9)' },
  },
  run(run) {
    const models = namesOption(run, 'model', measuredModelNames);
    const rounds = integerOption(run, 'rounds', 9, [1, 1000]);
    return withDevice(async (context, adapter) => {
      run.note('measuring the roofline …');
      const roofline = bestOf(await sweepProducts(context, largeProducts));
      const rates: Partial<Record<MeasuredModel, UpdateRate & { readonly rooflineShare: number }>> = {};
      for (const model of models) {
        run.note(`measuring ${model} …`);
        const rate = await measure(context, model, rounds);
        rates[model] = { ...rate, rooflineShare: rate.gflops.median / roofline.gflops.median };
      }
      return {
        adapter,
        values: { ...rates, roofline },
        table: [
          ['model', 'tokens', 'trained', 'tokens/s', 'GFLOP/s', 'of the roofline'],
          ...Object.entries(rates).map(([model, r]) => [
            model,
            digits(r.tokens),
            digits(r.trainable),
            spreadText(r.tokensPerSecond),
            spreadText(r.gflops),
            `${digits(100 * r.rooflineShare)} %`,
          ]),
        ],
        remarks: [
          `roofline: ${spreadText(roofline.gflops)} GFLOP/s, ${roofline.product} ${roofline.rows}×${roofline.inputs}×${roofline.outputs}`,
          'FLOPs: 3 × forward; blocks for every token, heads for trained tokens only (src/run/measure/flops.ts)',
        ],
      };
    });
  },
};
export default update;
