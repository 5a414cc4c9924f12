/** Writes iterations as fast as it can and reports each one that is saved, until it is killed. */
import { openStore } from '../../src/store/open';
import { sampleCheckpoint, sampleHeader, sampleRecord, sampleRollouts } from '../unit/store-samples';

self.onmessage = async ({ data }: MessageEvent<{ name: string }>) => {
  const store = await openStore({ name: data.name });
  await store.saveHeader(sampleHeader('w'));
  // Made before the first write: a kill should fall into a write, not into the making of samples.
  const rollouts = Array.from({ length: 8 }, (_, i) => sampleRollouts(8, i + 1));
  for (const [i, some] of rollouts.entries()) {
    await store.saveIteration('w', sampleRecord(i + 1), some, sampleCheckpoint(i + 1, 20_000));
    self.postMessage({ saved: i + 1 });
  }
};
