/** Recorded episodes on real kernels: they are what an evaluation plays, step by step. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parseConfig } from '../../src/core/config/config';
import { type Frame, parseRecording } from '../../src/core/recording/recording';
import { createTerminalPool } from '../../src/env/pool';
import { baseFromDisk } from '../../src/headless/runtime';
import { presets } from '../../src/run/presets/presets';
import { recordEpisodes } from '../../src/run/recording/recording';
import { createEngine, loadBase } from '../../src/run/session/session';
import { evaluateRollouts } from '../../src/run/trainer/evaluate';
import { labProgram, runLab } from './lab-support';
import { testContext } from './transformer-support';

const folder = mkdtempSync(join(tmpdir(), 'lab-record-'));
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  (await testContext()).dispose();
});

const of = <K extends Frame['kind']>(frames: readonly Frame[], kind: K) =>
  frames.filter((frame): frame is Extract<Frame, { kind: K }> => frame.kind === kind);

test('frames are the steps and compactions of the evaluation with the same seed', { timeout: 120_000 }, async () => {
  const context = await testContext();
  const config = parseConfig(presets.quick.config);
  const { shape, parameters } = await loadBase(config, 3, baseFromDisk);
  const engine = await createEngine({ context, engine: config.engine }, shape, config);
  const pool = createTerminalPool({ workers: 0 });
  const how = { engine, pool, config, seed: 3, gate: async () => {} };
  try {
    await engine.setParameters('policy', parameters);
    const rollouts = await evaluateRollouts('comp', { ...how, episodes: 24 });
    const recorded = await recordEpisodes({ ...how, tasks: 24, policy: 'base' });
    expect(recorded).toHaveLength(24);
    // Otherwise nothing below is tested.
    expect(rollouts.flatMap((r) => r.compactions).length).toBeGreaterThan(20);
    expect(new Set(rollouts.map((r) => r.stop)).size).toBeGreaterThan(1);
    rollouts.forEach((rollout, i) => {
      const { frames, success, stop, reward } = recorded[i]!;
      expect({ success, stop, reward }).toEqual({
        success: rollout.solved,
        stop: rollout.stop,
        reward: rollout.reward,
      });
      expect(of(frames, 'command').map(({ text }) => text)).toEqual(rollout.steps.map(({ command }) => command));
      const folds = of(frames, 'fold').map(({ summary, before, after, kept, lost }) => ({
        summary,
        tokensBefore: before,
        tokensAfter: after,
        factsNeeded: kept.length + lost.length,
        factsKept: kept.length,
      }));
      expect(folds).toEqual(rollout.compactions);
      for (const frame of frames) if ('context' in frame) expect(frame.context).toBeLessThanOrEqual(config.window);
    });
  } finally {
    engine.dispose();
    await pool.close();
  }
});

test('lab record writes a recording that the page reads, and refuses what it cannot record', {
  timeout: 120_000,
}, async () => {
  const lab = await labProgram();
  const out = join(folder, 'pair.json');
  const policy = ['--policy', 'public/bases/chain-small.safetensors', '--training', 'none'];
  const words = ['record', 'quick', ...policy, '--tasks', '4', '--out', out, '--kernels', '{}'];
  const asked = await runLab(lab, [...words, '--index', '2']);
  expect(asked.code, asked.stderr).toBe(0);
  const recording = parseRecording(JSON.parse(readFileSync(out, 'utf8')), out);
  expect(recording.task).toMatchObject({
    preset: 'quick',
    seed: 0,
    index: 2,
    instruction: asked.lines[0]!.instruction,
  });
  // The same policy twice, with the same draws.
  const [left, right] = recording.episodes;
  expect({ ...left, policy: 'trained' }).toEqual(right);
  expect(recording.provenance.selection).toMatch(/^task 2 was asked for/);
  // A policy beside itself shows nothing.
  expect((await runLab(lab, words)).stderr).toMatch(/No held-out task shows what a recording is for/);
  expect((await runLab(lab, [...words, '--index', '4'])).code).toBe(2);
});
