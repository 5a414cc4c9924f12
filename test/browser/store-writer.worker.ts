/** Saves two iterations, then hangs for ever in the middle of saving the third: after its n-th `put`. */
import { openStore } from '../../src/store/open';
import { sampleCheckpoint, sampleHeader, sampleRecord, sampleRollouts } from '../unit/store-samples';

self.onmessage = async ({ data }: MessageEvent<{ name: string; hangAtPut: number }>) => {
  const store = await openStore({ name: data.name });
  await store.saveHeader(sampleHeader('w'));
  const save = (i: number) => store.saveIteration('w', sampleRecord(i), sampleRollouts(8, i), sampleCheckpoint(i));
  await save(1);
  await save(2);
  let puts = 0;
  const put = IDBObjectStore.prototype.put;
  IDBObjectStore.prototype.put = function (...row: Parameters<typeof put>) {
    const request = put.apply(this, row); // on its way to the database before we hang
    if (++puts === data.hangAtPut) {
      self.postMessage('hanging');
      for (;;);
    }
    return request;
  };
  await save(3);
  self.postMessage(`saved with ${puts} puts`);
};
