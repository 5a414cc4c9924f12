/** A full disk, as the browser itself enforces it. */
import { expect, test } from 'vitest';
import { cdp } from 'vitest/browser';
import { openStore } from '../../src/store/open';
import { sampleCheckpoint, sampleHeader, sampleRecord, sampleRollouts } from '../unit/store-samples';

test('a full disk refuses with sizes and the fix, and loses nothing saved before', async () => {
  // Room for the first iteration, not for the second. Set before the first write: see below.
  const { usage = 0 } = await navigator.storage.estimate();
  await cdp().send('Storage.overrideQuotaForOrigin', { origin: location.origin, quotaSize: usage + 4_000_000 });
  const store = await openStore({ name: `quota-test-${Date.now()}` });
  await store.saveHeader(sampleHeader('a'));
  await store.saveIteration('a', sampleRecord(1), sampleRollouts(4, 1), sampleCheckpoint(1));
  // Random numbers: zeros would be compressed on their way to the disk.
  const noise = () => new Float32Array(1_000_000).map(() => Math.random());
  const large = { ...sampleCheckpoint(2), policy: { parameters: noise(), m: noise(), v: noise(), step: 2 } };
  try {
    // Chromium remembers for up to 30 s how much room there was, for tests that wrote before this one, and lets writes pass.
    await expect
      .poll(() => store.saveDraft('probe', 'probe', large).then(String, String), { timeout: 50_000, interval: 1000 })
      .toMatch(/There is no room left/);
    const full = store.saveIteration('a', sampleRecord(2), [], large);
    await expect(full).rejects.toMatchObject({
      // Three lists of a million floats for the policy, three of 64 for the critic, and the record.
      parts: { code: 'store.quota', expected: 'room for 12.0 MB more', got: expect.stringMatching(/B in use$/) },
    });
  } finally {
    await cdp().send('Storage.overrideQuotaForOrigin', { origin: location.origin });
  }
  expect((await store.loadRun('a'))?.checkpoint).toEqual(sampleCheckpoint(1));
  expect((await store.loadRun('a'))?.records).toEqual([sampleRecord(1)]);
  expect(await store.listRuns()).toMatchObject([{ iterations: 1 }]);
});
