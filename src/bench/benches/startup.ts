/**
 * Time until the engine works, in fresh processes: with an empty shader cache of the driver (cold), then with the cache
 * that the first process filled (warm).
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { LabError } from '../../core/errors';
import { createWebGpuEngine } from '../../model/webgpu/engine';
import { type MeasuredModel, measuredModelNames, measuredModels } from '../../run/measure/models';
import { startDecode, startUpdate } from '../../run/measure/workloads';
import { nameOption, namesOption } from '../arguments';
import type { Bench } from '../bench';
import { withDevice } from '../device';
import { digits } from '../table';

/** Milliseconds since the process asked for the device, each including the ones before. */
const Times = v.object({
  deviceMs: v.number(),
  /** All pipelines of the engine are created; drivers may compile them later. */
  pipelinesMs: v.number(),
  /** The first optimiser step's result is there. */
  firstUpdateMs: v.number(),
  /** The first sampled tokens are there. */
  firstTokenMs: v.number(),
});
type Times = v.InferOutput<typeof Times>;

/** Measures in this process. */
async function measure(model: MeasuredModel): Promise<{ adapter: string; times: Times }> {
  const from = performance.now();
  const passed = () => performance.now() - from;
  return withDevice(async (context, adapter) => {
    const deviceMs = passed();
    const engine = await createWebGpuEngine(context, measuredModels[model]);
    const pipelinesMs = passed();
    await (await startUpdate(engine, 64)).run();
    const firstUpdateMs = passed();
    await (await startDecode(engine, 1)).run();
    const firstTokenMs = passed();
    engine.dispose();
    return { adapter, times: { deviceMs, pipelinesMs, firstUpdateMs, firstTokenMs } };
  });
}

/** Measures in a new process. @param cache folder of the driver's shader cache */
function measureApart(model: MeasuredModel, cache: string): { adapter: string; times: Times } {
  const caches = { MESA_SHADER_CACHE_DIR: cache, __GL_SHADER_DISK_CACHE_PATH: cache };
  const child = spawnSync(process.execPath, [process.argv[1]!, 'startup', '--here', model, '--json'], {
    env: { ...process.env, ...caches },
    encoding: 'utf8',
  });
  if (child.status !== 0)
    throw new LabError({
      code: 'bench.child',
      what: 'The measuring process failed',
      where: model,
      expected: 'exit code 0',
      got: `${child.status}: ${child.stderr.trim().split('\n').at(-1)}`,
    });
  const Answer = v.object({ times: Times, provenance: v.object({ adapter: v.string() }) });
  const { times, provenance } = v.parse(Answer, JSON.parse(child.stdout));
  return { adapter: provenance.adapter, times };
}

const heading = ['model', 'shader cache', 'device', '+ pipelines', '+ first update', '+ first token'];
const cells = ({ deviceMs, pipelinesMs, firstUpdateMs, firstTokenMs }: Times) =>
  [deviceMs, pipelinesMs, firstUpdateMs, firstTokenMs].map((ms) => `${digits(ms)} ms`);

const startup: Bench = {
  name: 'startup',
  summary: 'ms to device, pipelines, first update and first token, with an empty and with a filled shader cache',
  options: {
    model: { help: `${measuredModelNames.join(', ')} (default all)` },
    here: { help: 'a model: measure once in this process, with the cache as it is' },
  },
  async run(run) {
    if (run.options.here !== undefined) {
      const model = nameOption(run, 'here', 'quick', measuredModelNames);
      const { adapter, times } = await measure(model);
      return { adapter, values: { model, times }, table: [heading, [model, 'as it is', ...cells(times)]] };
    }
    const results: Partial<Record<MeasuredModel, { cold: Times; warm: Times }>> = {};
    let adapter = '';
    for (const model of namesOption(run, 'model', measuredModelNames)) {
      const cache = mkdtempSync(join(tmpdir(), 'lab-shaders-'));
      try {
        run.note(`measuring ${model} …`);
        const cold = measureApart(model, cache);
        const warm = measureApart(model, cache);
        adapter = warm.adapter;
        results[model] = { cold: cold.times, warm: warm.times };
      } finally {
        rmSync(cache, { recursive: true, force: true });
      }
    }
    return {
      adapter,
      values: { ...results, unit: 'ms' },
      table: [
        heading,
        ...Object.entries(results).flatMap(([model, { cold, warm }]) => [
          [model, 'empty', ...cells(cold)],
          [model, 'filled', ...cells(warm)],
        ]),
      ],
      remarks: [
        'each column includes the ones before; drivers other than Mesa and NVIDIA may keep their cache elsewhere',
      ],
    };
  },
};
export default startup;
