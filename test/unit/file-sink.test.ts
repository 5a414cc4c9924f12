import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/core/config/config';
import type { Checkpoint, ModelState, RunHeader } from '../../src/core/protocol/protocol';
import type { Rollout } from '../../src/core/trajectory/trajectory';
import { FileSink } from '../../src/headless/file-sink';
import { type ModelShape, parameterLayout } from '../../src/model/parameters';
import { readModel, readTrainingState, writeModel, writeTrainingState } from '../../src/run/session/model-file';
import { sampleRecord } from './store-samples';

const shape: ModelShape = {
  vocabulary: 4,
  dModel: 4,
  layers: 1,
  heads: 1,
  mlp: 4,
  positions: 4,
  previousToken: false,
};
const state = (step: number): ModelState => {
  const flat = new Float32Array(parameterLayout(shape).total);
  return { parameters: flat, m: flat, v: flat, step };
};
const fresh = (): ModelState => {
  const zeros = () => new Float32Array(parameterLayout(shape).total);
  return { parameters: zeros(), m: zeros(), v: zeros(), step: 1 };
};
const header: RunHeader = {
  runId: 'r',
  config: parseConfig({ iterations: 7 }),
  seed: 5,
  preset: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  adapter: 'none',
  engine: 'webgpu',
  build: 'dev',
};
const checkpoint = (iteration: number): Checkpoint => ({
  iteration,
  envTokens: 10 * iteration,
  policy: state(iteration),
  critic: null,
  elapsedMs: 1,
});
// U+2028 ends a line for some readers, and not in JSON.
const rollout = (iteration: number) =>
  ({ id: iteration, iteration, instruction: 'a\u2028b', segments: [] }) as unknown as Rollout;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'file-sink-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = (name: string) => join(folder, 'run', name);
const text = (name: string) => readFileSync(path(name), 'utf8');

/** A run with two saved iterations. */
async function saved(): Promise<FileSink> {
  const sink = new FileSink(join(folder, 'run'));
  sink.useShape(shape);
  await sink.saveHeader(header);
  for (const i of [0, 1])
    await sink.saveIteration('r', { ...sampleRecord(i), iteration: i }, [rollout(i), rollout(i)], checkpoint(i + 1));
  return sink;
}

describe('a run in a folder', () => {
  test('comes back as it was saved', async () => {
    const sink = await saved();
    await sink.saveStatus('r', 'stopped');
    const before = [text('metrics.jsonl'), text('trajectories.jsonl')];
    const run = await sink.loadRun();
    expect(run?.header).toEqual(header);
    expect(run?.records.map((r) => r.iteration)).toEqual([0, 1]);
    expect(run?.checkpoint).toEqual(checkpoint(2));
    expect([text('metrics.jsonl'), text('trajectories.jsonl')]).toEqual(before);
  });

  test('lines beyond the checkpoint, whole and half, are cut off', async () => {
    const sink = await saved();
    const before = [text('metrics.jsonl'), text('trajectories.jsonl')];
    appendFileSync(path('metrics.jsonl'), '{"iteration":2}\n{"iter');
    appendFileSync(path('trajectories.jsonl'), '{"iteration":2,"id":1}\n{"iteration":2}\n');
    expect((await sink.loadRun())?.records).toHaveLength(2);
    expect([text('metrics.jsonl'), text('trajectories.jsonl')]).toEqual(before);
  });

  test('a policy that was lost or cut off comes back from the checkpoint', async () => {
    const sink = await saved();
    const before = readFileSync(path('policy.safetensors'));
    rmSync(path('policy.safetensors'));
    await sink.loadRun();
    expect(readFileSync(path('policy.safetensors'))).toEqual(before);
    writeFileSync(path('policy.safetensors'), before.subarray(0, 100));
    await sink.loadRun();
    expect(readFileSync(path('policy.safetensors'))).toEqual(before);
  });

  test('a lost checkpoint is named, and what was saved is not thrown away', async () => {
    const sink = await saved();
    const before = [text('metrics.jsonl'), text('trajectories.jsonl')];
    rmSync(path('checkpoint.safetensors'));
    await expect(sink.loadRun()).rejects.toMatchObject({
      code: 'run.no-checkpoint',
      message: expect.stringMatching(
        /checkpoint\.safetensors: expected a file, as 2 iterations were saved, got nothing/,
      ),
    });
    expect([text('metrics.jsonl'), text('trajectories.jsonl')]).toEqual(before);
    // Cut off within its first iteration, it begins again.
    for (const name of ['metrics.jsonl', 'trajectories.jsonl'])
      writeFileSync(path(name), `${text(name).split('\n')[0]}\n`);
    expect(await sink.loadRun()).toMatchObject({ records: [], checkpoint: null });
    expect(text('metrics.jsonl')).toBe('');
  });

  test('a damaged line is named, and nothing is cut', async () => {
    const sink = await saved();
    const lines = text('trajectories.jsonl').split('\n');
    lines[1] = 'oops';
    writeFileSync(path('trajectories.jsonl'), lines.join('\n'));
    await expect(sink.loadRun()).rejects.toThrow(/trajectories\.jsonl, line 2/);
    expect(text('trajectories.jsonl')).toBe(lines.join('\n'));
  });

  test.each([
    ['{', 'run.bad-header'],
    ['[]', 'run.bad-header'],
    ['null', 'run.bad-header'],
    [JSON.stringify({ ...header, adapter: 3 }), 'run.bad-header'],
    [JSON.stringify({ ...header, seed: -1 }), 'run.bad-header'],
    [JSON.stringify({ ...header, shell: 3 }), 'run.bad-header'],
    [JSON.stringify({ ...header, config: { windw: 3 } }), 'run.bad-header'],
  ])('config.json %s is one clear error', async (content, code) => {
    const sink = await saved();
    writeFileSync(path('config.json'), content);
    const text = expect.any(String);
    const parts = { code, where: path('config.json'), expected: text, got: text, fix: text };
    await expect(sink.loadRun()).rejects.toMatchObject({ parts });
  });

  test.each([
    ['metrics.jsonl', (text: string) => `oops\n${text}`, /metrics\.jsonl, line 1/],
    ['metrics.jsonl', () => null, /missing.*metrics\.jsonl: expected a file, got nothing/],
    [
      'metrics.jsonl',
      (text: string) => text.slice(0, text.indexOf('\n') + 1),
      /expected iterations 0 to 1, got 1 of them/,
    ],
    ['metrics.jsonl', (text: string) => text.slice(text.indexOf('\n') + 1), /expected iteration 0 on line 1/],
    ['trajectories.jsonl', () => null, /missing.*trajectories\.jsonl: expected a file, got nothing/],
    ['trajectories.jsonl', () => '', /expected iterations 0 to 1, got 0 of them/],
  ])(
    '%s that lost something the checkpoint builds on is named, and nothing is cut (%#)',
    async (name, damage, message) => {
      const sink = await saved();
      const other = name === 'metrics.jsonl' ? 'trajectories.jsonl' : 'metrics.jsonl';
      appendFileSync(path(other), '{"iteration":2}\n');
      const before = text(other);
      const damaged = damage(text(name));
      if (damaged === null) rmSync(path(name));
      else writeFileSync(path(name), damaged);
      await expect(sink.loadRun()).rejects.toThrow(message);
      expect(text(other)).toBe(before);
    },
  );

  test.each([
    ['policy', 'parameters', Number.NaN, /policy\.wte\[1, 2\]: expected finite numbers only, got NaN/],
    ['policy', 'm', Number.POSITIVE_INFINITY, /policy\.adam_m\.wte\[1, 2\]: .*got Infinity/],
    ['critic', 'v', Number.NEGATIVE_INFINITY, /critic\.adam_v\.wte\[1, 2\]: .*got -Infinity/],
  ] as const)(
    'a checkpoint with a %s whose %s hold %d is refused: file, tensor, place, fix',
    async (role, key, bad, at) => {
      const sink = await saved();
      const whole = { policy: fresh(), critic: fresh() };
      whole[role][key][1 * 4 + 2] = bad;
      const counters = JSON.stringify({ iteration: 2, envTokens: 1, elapsedMs: 1 });
      writeFileSync(path('checkpoint.safetensors'), writeTrainingState(shape, whole, { counters }));
      await expect(sink.loadRun()).rejects.toThrow(at);
      await expect(sink.loadRun()).rejects.toMatchObject({
        code: 'model.non-finite',
        parts: {
          where: expect.stringContaining(path('checkpoint.safetensors')),
          fix: expect.stringContaining('earlier'),
        },
      });
      const policy = () => readModel(writeModel(shape, whole[role][key], {}), 'a.safetensors');
      expect(policy).toThrowError(/a\.safetensors, wte\[1, 2\]/);
    },
  );

  test.each(['{"iteration":2,"envTokens":1e999,"elapsedMs":1}', '{"iteration":-1,"envTokens":1,"elapsedMs":1}'])(
    'a checkpoint with counters %s is refused',
    async (counters) => {
      const sink = await saved();
      writeFileSync(path('checkpoint.safetensors'), writeTrainingState(shape, { policy: state(2) }, { counters }));
      await expect(sink.loadRun()).rejects.toMatchObject({ code: 'run.checkpoint' });
    },
  );

  test('a damaged checkpoint is named', async () => {
    const sink = await saved();
    writeFileSync(path('checkpoint.safetensors'), 'oops');
    await expect(sink.loadRun()).rejects.toThrow(/run\/checkpoint\.safetensors, header length/);
  });
});

describe('a checkpoint', () => {
  const at = (metadata: Record<string, string>) => writeTrainingState(shape, { policy: state(3) }, metadata);

  test('whose counters are not ours is one clear error', async () => {
    const sink = await saved();
    for (const counters of ['{', '{}', '{"iteration":1.5}', '{"iteration":1}']) {
      writeFileSync(path('checkpoint.safetensors'), at({ counters }));
      await expect(sink.loadRun()).rejects.toMatchObject({ code: 'run.checkpoint' });
    }
  });

  test('with steps that are no numbers, or a shape it cannot hold, is one clear error', () => {
    const good = at({});
    expect(readTrainingState(good, 'x').models.policy?.step).toBe(3);
    const changed = (from: string, to: string) => {
      const bytes = good.slice();
      const where = Buffer.from(bytes.buffer).indexOf(from);
      expect(where).toBeGreaterThan(0);
      bytes.set(Buffer.from(to), where);
      return bytes;
    };
    const steps = String.raw`{\"policy\":3}`;
    expect(() => readTrainingState(changed(steps, String.raw`{\"policy\":x}`), 'x')).toThrow(/"steps"/);
    expect(() => readTrainingState(changed(steps, String.raw`{\"other_\":3}`), 'x')).toThrow(/lacks a tensor/);
    // Claims 4 × more positions than the file has: refused before memory is asked for.
    expect(() => readTrainingState(changed(String.raw`\"positions\":4`, String.raw`\"positions\":9`), 'x')).toThrow(
      /does not fit the model/,
    );
  });
});
