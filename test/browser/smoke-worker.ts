import { threefry } from '../../src/core/rng';

const adapter = await navigator.gpu?.requestAdapter();
self.postMessage({ threefry: threefry(0, 0, 0, 0), hasAdapter: Boolean(adapter) });
