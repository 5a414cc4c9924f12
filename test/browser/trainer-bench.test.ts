/** Measuring in the real trainer worker: every engine gets a number, and the device has one user at a time. */
import { afterAll, expect, test } from 'vitest';
import { errorParts, LabError } from '../../src/core/errors';
import type { BenchProgress } from '../../src/core/protocol/bench';
import { tinyContext } from '../../src/run/presets/presets';
import { createTrainerClient } from '../../src/run/worker/client';

const [client, otherTab] = [createTrainerClient(), createTrainerClient()];
afterAll(() => {
  client.dispose();
  otherTab.dispose();
});

const config = { ...tinyContext, base: 'random', episodes: 4, minibatches: 1, evalEvery: 0 };
const start = (trainer: typeof client) => trainer.start({ config, seed: 1, preset: null });
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'no error',
    (thrown) => errorParts(thrown).code,
  );

test('measures products and opens every engine; runs are refused meanwhile; stops when told', async () => {
  const seen: BenchProgress[] = [];
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const measuring = client.bench({ models: ['quick'] }, (progress) => {
    seen.push(progress);
    begin();
    // Before the first update of tfjs, whose shaders SwiftShader compiles for a minute.
    if (progress.note === 'quick: opening jax-js') void client.cancelBench();
  });
  await Promise.race([begun, measuring]);
  expect(await codeOf(start(client))).toBe('bench.running');
  expect(await codeOf(start(otherTab))).toBe('bench.running');
  expect(await codeOf(client.bench({ models: ['quick'] }, () => {}))).toBe('bench.running');
  expect(await codeOf(otherTab.bench({ models: ['quick'] }, () => {}))).toBe('bench.running');
  const report = await measuring;
  expect(report.complete).toBe(false);
  expect(report.problems).toEqual([]);
  expect(report.adapter).toMatch(/swiftshader/i);
  expect(report.product!.gflops.median).toBeGreaterThan(0.1);
  expect(report.product!.gflops.samples).toBe(5);
  const shares = seen.map(({ share }) => share);
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(seen.at(-1)!.remainingMs).toBeGreaterThan(0);
}, 120_000);

test('is refused while a run is active, in this tab or another, and after a bad request', async () => {
  await start(client);
  expect(await codeOf(client.bench({ models: ['quick'] }, () => {}))).toBe('bench.busy');
  expect(await codeOf(otherTab.bench({ models: ['quick'] }, () => {}))).toBe('bench.busy');
  await client.stop();
  const bad = await client.bench({ models: ['huge' as 'quick'] }, () => {}).catch((thrown) => thrown);
  expect(bad).toBeInstanceOf(LabError);
  expect(errorParts(bad)).toMatchObject({ code: 'bench.request', where: 'models.0', got: '"huge"' });
}, 120_000);
