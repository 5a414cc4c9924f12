/** Commands per second of the terminal pool, with one worker and with two: whole batches, as a rollout sends them. */
import { parseConfig } from '../../core/config/config';
import type { RunRequest, TerminalPool } from '../../env/pool';
import { createNodePool } from '../../env/pool-node';
import type { TaskInstance } from '../../env/task';
import { mapSpread, type Spread, spreadOf } from '../../run/measure/rounds';
import { presets } from '../../run/presets/presets';
import { drawTasks, trackerOf } from '../../run/rollout/tasks';
import { integerOption, integersOption } from '../arguments';
import type { Bench } from '../bench';
import { spreadText } from '../table';

const config = parseConfig(presets.quick.config);

/** Opens a shell for every task. */
function openAll(pool: TerminalPool, tasks: readonly TaskInstance[]): Promise<void> {
  return pool.open(tasks.map((task, env) => ({ env, task })));
}

/** The batches of the scripted expert over all tasks: one command per environment that is still at work. */
async function expertBatches(tasks: readonly TaskInstance[]): Promise<RunRequest[][]> {
  const pool = await createNodePool({ workers: 0 });
  await openAll(pool, tasks);
  const batches: RunRequest[][] = [];
  let active = tasks.map((task, env) => ({ env, tracker: trackerOf(task, config) }));
  while (active.length > 0) {
    const batch = active.map(({ env, tracker }) => ({ env, command: tracker.next() }));
    const results = await pool.run(batch);
    batches.push(batch);
    active = active.filter(({ tracker }, i) => {
      tracker.observe(batch[i]!.command, results[i]!.output);
      return !results[i]!.exited;
    });
  }
  await pool.close();
  return batches;
}

/** @returns commands/s of the batches alone, shells opened before */
async function round(
  pool: TerminalPool,
  tasks: readonly TaskInstance[],
  batches: readonly (readonly RunRequest[])[],
): Promise<number> {
  await openAll(pool, tasks);
  const from = performance.now();
  for (const batch of batches) await pool.run(batch);
  const ms = performance.now() - from;
  await pool.release(tasks.map((_, env) => env));
  return (batches.flat().length / ms) * 1000;
}

const terminals: Bench = {
  name: 'terminals',
  summary: 'commands/s of the terminal pool by its number of workers',
  options: {
    workers: { help: 'numbers of workers (default 1,2)' },
    environments: { help: 'shells (default 64)' },
    rounds: { help: 'measured rounds (default 7)' },
  },
  async run(run) {
    const workers = integersOption(run, 'workers', [1, 2], [0, 64]);
    const environments = integerOption(run, 'environments', 64, [1, 4096]);
    const rounds = integerOption(run, 'rounds', 7, [1, 1000]);
    const tasks = drawTasks(config, 1, 'train', 0, environments);
    const batches = await expertBatches(tasks);
    const commands = batches.flat().length;
    run.note(`${commands} commands in ${batches.length} batches`);
    const pools = await Promise.all(workers.map((n) => createNodePool({ workers: n })));
    const samples = workers.map((): number[] => []);
    // One uncounted round first: workers load their code.
    for (let r = -1; r < rounds; r++)
      for (const [i, pool] of pools.entries()) {
        const rate = await round(pool, tasks, batches);
        if (r >= 0) samples[i]!.push(rate);
      }
    for (const pool of pools) await pool.close();
    const results = workers.map((n, i) => {
      const commandsPerSecond: Spread = spreadOf(samples[i]!);
      return { workers: n, commandsPerSecond, msPerCommand: mapSpread(commandsPerSecond, (rate) => 1000 / rate) };
    });
    return {
      values: { environments, commands, results },
      table: [
        ['workers', 'commands/s', 'ms a command'],
        ...results.map((r) => [`${r.workers}`, spreadText(r.commandsPerSecond), spreadText(r.msPerCommand)]),
      ],
      remarks: [`the scripted expert of the quick preset in ${environments} shells, ${commands} commands a round`],
    };
  },
};
export default terminals;
