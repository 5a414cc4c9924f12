import { expect, test } from 'vitest';

test('the page has a WebGPU adapter and a device', async () => {
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) throw new Error('Chromium gave no WebGPU adapter: see the flags in .ci/chromium.mjs');
  console.info(`Chromium adapter: ${adapter.info.vendor} ${adapter.info.architecture} ${adapter.info.description}`);
  const device = await adapter.requestDevice();
  const buffer = device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ, mappedAtCreation: false });
  await buffer.mapAsync(GPUMapMode.READ);
  expect(new Float32Array(buffer.getMappedRange())).toEqual(new Float32Array(4));
  device.destroy();
});

test('the page has an IndexedDB that keeps typed arrays', async () => {
  const name = 'smoke-test';
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore('arrays');
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const write = database.transaction('arrays', 'readwrite');
  write.objectStore('arrays').put(new Float32Array([1, Number.NaN, -0]), 'a');
  await new Promise((resolve, reject) => {
    write.oncomplete = resolve;
    write.onabort = () => reject(write.error);
  });
  const read = database.transaction('arrays').objectStore('arrays').get('a');
  await new Promise((resolve) => {
    read.onsuccess = resolve;
  });
  expect(read.result).toEqual(new Float32Array([1, Number.NaN, -0]));
  database.close();
  indexedDB.deleteDatabase(name);
});

test('a module worker starts, imports project code and reaches the GPU', async () => {
  const worker = new Worker(new URL('./smoke-worker.ts', import.meta.url), { type: 'module' });
  try {
    const answer = await new Promise((resolve, reject) => {
      worker.onmessage = (event) => resolve(event.data);
      worker.onerror = (event) => reject(new Error(event.message || 'the worker did not start'));
    });
    // The first block of Threefry with an all-zero key and counter, from the published test vectors.
    expect(answer).toEqual({ threefry: [0x6b200159, 0x99ba4efe], hasAdapter: true });
  } finally {
    worker.terminate();
  }
});
