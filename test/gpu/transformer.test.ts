import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GpuContext } from '../../src/gpu/device';
import type { UpdateBatch } from '../../src/model/engine';
import { type ModelShape, parameterLayout } from '../../src/model/parameters';
import { createWebGpuEngine } from '../../src/model/webgpu/engine';
import { type OracleLoss, oracleStep } from '../oracle/transformer';
import {
  expectClose,
  fullLoss,
  namedTensors,
  noisyParameters,
  oracleRows,
  quickShape,
  randomBatch,
  testContext,
  tinyShape,
} from './transformer-support';

let context: GpuContext;
beforeAll(async () => {
  context = await testContext();
});
afterAll(() => context.dispose());

/** Behaviour log-probs near the model's own, so that both sides of the clip occur. */
function nearPolicy(batch: UpdateBatch, logp: ArrayLike<number>): UpdateBatch {
  const jitter = (scale: number) =>
    Float32Array.from(logp, (x, p) => x + scale * Math.sin(12.9898 * (p + 1) * (1 + scale)));
  return { ...batch, oldLogp: jitter(0.3), referenceLogp: jitter(0.5) };
}

const cases: [string, ModelShape, { rows: number; maxLength: number; share: number }][] = [
  ['tiny, 2 layers', tinyShape, { rows: 7, maxLength: 20, share: 0.4 }],
  [
    'no previous token, 1 head',
    { ...tinyShape, previousToken: false, heads: 1, layers: 1 },
    { rows: 3, maxLength: 9, share: 1 },
  ],
  ['vocabulary 20, mlp 20', { ...tinyShape, vocabulary: 20, mlp: 20 }, { rows: 2, maxLength: 24, share: 0.2 }],
  ['quick', quickShape, { rows: 3, maxLength: 16, share: 0.3 }],
];

describe.each(cases)('whole model, %s', (_, shape, sizes) => {
  it('log-probs, entropy, values, loss and every gradient equal the float64 oracle', async () => {
    const engine = await createWebGpuEngine(context, shape);
    const parameters = noisyParameters(shape, 11);
    await engine.setParameters('policy', parameters);
    const random = randomBatch(shape, { seed: 5, ...sizes });
    const scores = await engine.score('policy', random);
    const batch = nearPolicy(random, scores.logp);
    const oracle = oracleStep(shape, namedTensors(shape, parameters), oracleRows(batch), batch, fullLoss as OracleLoss);
    // float32 has 6e-8 relative per operation; sums of up to 256 terms of size 1 and exp of differences: 1e-5.
    expectClose('logp', scores.logp, oracle.logp, { absolute: 1e-5, relative: 1e-5 });
    expectClose('entropy', scores.entropy, oracle.entropy, { absolute: 1e-5, relative: 1e-5 });
    expectClose('values', scores.values, oracle.values, { absolute: 1e-5, relative: 1e-5 });
    const { stats, gradient } = await engine.gradient('policy', batch, fullLoss);
    expect(stats.nonFinite).toBe(false);
    expectClose('loss', [stats.loss], [oracle.loss], { absolute: 1e-5 });
    const named = namedTensors(shape, gradient);
    let squares = 0;
    for (const { name } of parameterLayout(shape).entries) {
      const expected = oracle.gradient[name]!;
      const size = Math.max(...expected.map(Math.abs));
      squares += expected.reduce((s, g) => s + g * g, 0);
      // Sums of terms that cancel: the error scales with the tensor's largest gradient, not with each entry.
      expectClose(name, named[name]!, expected, { absolute: 2e-5 * size + 1e-8 });
    }
    expectClose('norm', [stats.gradNorm], [Math.sqrt(squares)], { absolute: 0, relative: 1e-5 });
    engine.dispose();
  });
});
