/**
 * Whole training iterations of a preset: where their time goes, and how time and device memory grow with the number of
 * episodes.
 */
import { readFile } from 'node:fs/promises';
import { parseConfig, type RunConfig } from '../../core/config/config';
import { type TimeShares, timeShares } from '../../core/metrics/metrics';
import type { IterationRecord } from '../../core/metrics/records';
import type { RunHeader, Sink } from '../../core/protocol/protocol';
import { currentShell } from '../../core/shell-version';
import { createNodePool } from '../../env/pool-node';
import type { GpuContext } from '../../gpu/device';
import { createWebGpuEngine } from '../../model/webgpu/engine';
import { type Spread, spreadOf } from '../../run/measure/rounds';
import { type PresetName, presets } from '../../run/presets/presets';
import { build } from '../../run/session/build';
import { loadBase } from '../../run/session/session';
import { Trainer } from '../../run/trainer/trainer';
import { integerOption, integersOption, nameOption } from '../arguments';
import type { Bench } from '../bench';
import { withDevice } from '../device';
import { digits, spreadText } from '../table';

const SEED = 1;

interface IterationCost {
  readonly episodes: number;
  /** Rollouts and update, without evaluation and saving. */
  readonly ms: Spread;
  /** Tokens fed to the model in the rollouts of a second. */
  readonly envTokensPerSecond: number;
  readonly shares: TimeShares;
  readonly deviceBytes: number;
}

/** Keeps nothing: saving is not measured. */
const sink: Sink = {
  saveHeader: async () => {},
  saveIteration: async () => {},
  saveStatus: async () => {},
  loadRun: async () => null,
};

async function measure(
  context: GpuContext,
  adapter: string,
  config: RunConfig,
  iterations: number,
): Promise<IterationCost> {
  const { shape, parameters } = await loadBase(config, SEED, (name) => readFile(`public/bases/${name}.safetensors`));
  const engine = await createWebGpuEngine(context, shape, { microBatchTokens: config.microBatchTokens });
  const pool = await createNodePool({ workers: config.terminalWorkers });
  const header: RunHeader = {
    runId: 'bench',
    config,
    seed: SEED,
    preset: null,
    createdAt: new Date().toISOString(),
    adapter,
    engine: 'webgpu',
    build,
    shell: currentShell,
  };
  const records: IterationRecord[] = [];
  const trainer = new Trainer(header, {
    engine,
    pool,
    sink,
    base: parameters,
    here: { adapter, build },
    emit(event) {
      if (event.type !== 'iteration') return;
      records.push(event.record);
      // One uncounted iteration goes first: it compiles shaders.
      if (records.length === iterations + 1) trainer.stop();
    },
    now: () => performance.now(),
  });
  try {
    await trainer.run();
    const counted = records.slice(1);
    const timings = counted.flatMap(({ timing }) => timing ?? []);
    const tokens = counted.at(-1)!.envTokens - records[0]!.envTokens;
    const wallMs = timings.reduce((n, t) => n + t.wallMs, 0);
    return {
      episodes: config.episodes,
      ms: spreadOf(timings.map((t) => t.wallMs)),
      envTokensPerSecond: (tokens / wallMs) * 1000,
      shares: timeShares(timings)!,
      deviceBytes: engine.deviceBytes(),
    };
  } finally {
    await pool.close();
    engine.dispose();
  }
}

/** Growth per doubling of the episodes from one count to the next: 2 is linear. */
function growthOf(of: (cost: IterationCost) => number, costs: readonly IterationCost[]): number[] {
  return costs.slice(1).map((cost, i) => {
    const before = costs[i]!;
    const doublings = Math.log2(cost.episodes / before.episodes);
    return (of(cost) / of(before)) ** (1 / doublings);
  });
}

const names = Object.keys(presets) as PresetName[];

const iteration: Bench = {
  name: 'iteration',
  summary: 'time of whole iterations: shares of GPU, terminals, JavaScript; growth with the episodes',
  options: {
    preset: { help: `${names.join(', ')} (default quick)` },
    episodes: { help: 'ascending numbers of episodes (default 64,128,256,512)' },
    iterations: { help: 'measured iterations of each (default 5)' },
  },
  run(run) {
    const preset = nameOption(run, 'preset', 'quick', names);
    const counts = integersOption(run, 'episodes', [64, 128, 256, 512], [1, 4096]).sort((a, b) => a - b);
    const iterations = integerOption(run, 'iterations', 5, [1, 1000]);
    return withDevice(async (context, adapter) => {
      const costs: IterationCost[] = [];
      for (const episodes of counts) {
        // More iterations than are run, and no evaluation: the last iteration would evaluate.
        const changes = { episodes, iterations: iterations + 2, evalEvery: 0 };
        const cost = await measure(
          context,
          adapter,
          parseConfig({ ...presets[preset].config, ...changes }),
          iterations,
        );
        run.note(`${episodes} episodes: ${spreadText(cost.ms)} ms, ${digits(cost.deviceBytes / 2 ** 20)} MiB`);
        costs.push(cost);
      }
      const growth = { time: growthOf((c) => c.ms.median, costs), deviceBytes: growthOf((c) => c.deviceBytes, costs) };
      const percent = (share: number) => `${digits(100 * share)} %`;
      return {
        adapter,
        values: { preset, costs, growthPerDoubling: growth },
        table: [
          ['episodes', 'ms', 'env tokens/s', 'GPU', 'GPU idle', 'JavaScript', 'terminals', 'MiB', 'time ×', 'memory ×'],
          ...costs.map((c, i) => [
            `${c.episodes}`,
            spreadText(c.ms),
            c.envTokensPerSecond,
            percent(c.shares.gpu),
            percent(c.shares.idle),
            percent(c.shares.script),
            percent(c.shares.terminal),
            c.deviceBytes / 2 ** 20,
            i > 0 ? growth.time[i - 1]! : '',
            i > 0 ? growth.deviceBytes[i - 1]! : '',
          ]),
        ],
        remarks: [
          `preset ${preset}: rollouts and update, without evaluation and saving; × per doubling of the episodes`,
          'GPU + GPU idle (waiting for terminals) + JavaScript = 100 %; terminals overlap with GPU',
        ],
      };
    });
  },
};
export default iteration;
