/** What every store must do, whatever database is under it. */
import { describe, expect, test } from 'vitest';
import { parseRolloutLine } from '../../src/core/trajectory/trajectory-jsonl';
import type { Store, StoreOptions } from '../../src/store/store';
import { bits, sampleCheckpoint, sampleHeader, sampleRecord, sampleRollouts } from './store-samples';

/** @param open gives an empty store */
export function storeContract(name: string, open: (options?: StoreOptions) => Promise<Store>): void {
  describe(`store on ${name}`, () => {
    const withRun = async (iterations: number, options?: StoreOptions): Promise<Store> => {
      const store = await open(options);
      await store.saveHeader(sampleHeader('a'));
      for (let i = 1; i <= iterations; i++)
        await store.saveIteration('a', sampleRecord(i), sampleRollouts(4, i), sampleCheckpoint(i));
      return store;
    };

    test('gives back a run: header, all records in order, last checkpoint, every rollout bit for bit', async () => {
      const store = await withRun(12);
      const run = await store.loadRun('a');
      expect(run?.header).toEqual(sampleHeader('a'));
      expect(run?.records.map((r) => r.iteration)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
      expect(run?.records[4]).toEqual(sampleRecord(5));
      expect(run?.checkpoint).toEqual(sampleCheckpoint(12));
      expect(await store.loadRecords('a')).toEqual(run?.records);
      for (const i of [1, 10, 12])
        expect((await store.loadRollouts('a', i)).map(bits)).toEqual(sampleRollouts(4, i).map(bits));
      expect(await store.loadRollouts('a', 13)).toEqual([]);
      expect(await store.loadRun('b')).toBeNull();
      expect(await store.loadRecords('b')).toEqual([]);
    });

    test('keeps cells by experiment and name, and policies by name; the same name is replaced', async () => {
      const store = await open();
      await store.saveCell('one', 'a', { n: 1 });
      await store.saveCell('one', 'b', { n: 2 });
      await store.saveCell('two', 'a', { n: 3 });
      await store.saveCell('one', 'a', { n: 4 });
      expect(await store.loadCells('one')).toEqual([{ n: 4 }, { n: 2 }]);
      expect(await store.loadCells('three')).toEqual([]);
      await store.savePolicy('one', 'a', Uint8Array.of(1, 2));
      expect(await store.loadPolicy('a')).toEqual(Uint8Array.of(1, 2));
      expect(await store.loadPolicy('b')).toBeNull();
    });

    test('keeps measured kernels by adapter, version and model; another version replaces the old', async () => {
      const store = await open();
      await store.saveKernels('a', '1', 'small', { n: 1 });
      await store.saveKernels('a', '1', 'large', { n: 2 });
      await store.saveKernels('b', '1', 'small', { n: 3 });
      expect([...(await store.loadKernels('a', '1'))].sort()).toEqual([
        ['large', { n: 2 }],
        ['small', { n: 1 }],
      ]);
      expect(await store.loadKernels('a', '2')).toEqual(new Map());
      await store.saveKernels('a', '2', 'small', { n: 4 });
      expect(await store.loadKernels('a', '1')).toEqual(new Map());
      expect(await store.loadKernels('a', '2')).toEqual(new Map([['small', { n: 4 }]]));
      expect(await store.loadKernels('b', '1')).toEqual(new Map([['small', { n: 3 }]]));
    });

    test('rollouts are found by the number in their record, which may start at 0', async () => {
      const store = await withRun(0);
      await store.saveIteration('a', sampleRecord(0), sampleRollouts(2, 1), sampleCheckpoint(1));
      await store.saveIteration('a', sampleRecord(1), sampleRollouts(2, 2), sampleCheckpoint(2));
      expect((await store.loadRollouts('a', 0)).map(bits)).toEqual(sampleRollouts(2, 1).map(bits));
      expect((await store.loadRollouts('a', 1)).map(bits)).toEqual(sampleRollouts(2, 2).map(bits));
      expect(await store.loadRollouts('a', 2)).toEqual([]);
    });

    test('lists runs, the newest first, with status, progress, last evaluation and size', async () => {
      const store = await withRun(2);
      await store.saveHeader(sampleHeader('newer', '2026-02-01T00:00:00.000Z'));
      const evalComp = {
        success: 0.75,
        episodes: 4,
        byCompactions: [],
        successNeedingCompaction: null,
        meanTurns: 1,
        meanCompactions: 1,
        meanSummaryTokens: 1,
        factRecall: null,
      };
      const before = (await store.listRuns())[1]!.sizeBytes;
      await store.saveIteration('a', { ...sampleRecord(3), evalComp }, [], sampleCheckpoint(3));
      await store.saveStatus('a', 'paused');
      const [newer, a] = await store.listRuns();
      expect(newer).toMatchObject({ header: { runId: 'newer' }, status: 'idle', iterations: 0, sizeBytes: 0 });
      expect(a).toMatchObject({ header: { runId: 'a' }, status: 'paused', iterations: 3, lastEvalSuccess: 0.75 });
      // Two models of three lists of 64 floats, and the trajectories of two iterations.
      expect(before).toBeGreaterThan(2 * 3 * 64 * 4);
      // The third iteration adds its record and replaces a checkpoint of the same size.
      expect(a!.sizeBytes - before).toBe(JSON.stringify({ ...sampleRecord(3), evalComp }).length);
    });

    test('saving an iteration again replaces it, and its size is counted once', async () => {
      const store = await withRun(2);
      const sizeBytes = (await store.listRuns())[0]!.sizeBytes;
      await store.saveIteration('a', sampleRecord(2), sampleRollouts(9, 50), sampleCheckpoint(2));
      expect((await store.loadRollouts('a', 2)).map(bits)).toEqual(sampleRollouts(9, 50).map(bits));
      await store.saveIteration('a', sampleRecord(2), sampleRollouts(4, 2), sampleCheckpoint(2));
      expect((await store.loadRollouts('a', 2)).map(bits)).toEqual(sampleRollouts(4, 2).map(bits));
      expect((await store.loadRun('a'))?.records).toHaveLength(2);
      expect((await store.listRuns())[0]!.sizeBytes).toBe(sizeBytes);
    });

    test('an iteration behind the saved ones is another tab and is refused', async () => {
      const store = await withRun(3);
      await expect(store.saveIteration('a', sampleRecord(2), [], sampleCheckpoint(2))).rejects.toMatchObject({
        parts: { code: 'store.conflict', expected: 'iteration 3 or later', got: 'iteration 2' },
      });
      expect((await store.loadRun('a'))?.checkpoint).toEqual(sampleCheckpoint(3));
    });

    test('an unknown run is refused, not made', async () => {
      const store = await open();
      const unknown = { parts: { code: 'store.unknown-run', where: 'x' } };
      await expect(store.saveIteration('x', sampleRecord(1), [], sampleCheckpoint(1))).rejects.toMatchObject(unknown);
      await expect(store.saveStatus('x', 'paused')).rejects.toMatchObject(unknown);
      await expect(store.exportTrajectories('x')).rejects.toMatchObject(unknown);
      expect(await store.listRuns()).toEqual([]);
    });

    test('keeps the last checkpoint only, or every k-th besides', async () => {
      const last = await withRun(5);
      expect(await last.loadCheckpoint('a', 4)).toBeNull();
      expect(await last.loadCheckpoint('a', 5)).toEqual(sampleCheckpoint(5));
      const some = await withRun(5, { keepCheckpointEvery: 2 });
      const kept = [1, 2, 3, 4, 5].map(async (i) => (await some.loadCheckpoint('a', i))?.iteration);
      expect(await Promise.all(kept)).toEqual([undefined, 2, undefined, 4, 5]);
      expect((await some.loadRun('a'))?.checkpoint).toEqual(sampleCheckpoint(5));
    });

    test('stores a view without the buffer under it', async () => {
      const store = await withRun(0);
      const big = new Float32Array(1000).fill(2);
      const model = { parameters: big.subarray(4, 8), m: big.subarray(0, 4), v: big.subarray(8, 12), step: 1 };
      await store.saveIteration('a', sampleRecord(1), [], { ...sampleCheckpoint(1), policy: model, critic: null });
      const saved = (await store.loadRun('a'))?.checkpoint;
      expect(saved?.policy.parameters).toEqual(new Float32Array(4).fill(2));
      expect(saved?.policy.parameters.buffer.byteLength).toBe(16);
      expect(saved?.critic).toBeNull();
    });

    test('exports all trajectories as lines that read back', async () => {
      const store = await withRun(3);
      const blob = await store.exportTrajectories('a', (ids) => `${ids.length}`);
      const lines = (await blob.text()).split('\n');
      expect(lines.pop()).toBe('');
      const all = [1, 2, 3].flatMap((i) => sampleRollouts(4, i));
      expect(lines.map((line) => parseRolloutLine(line))).toEqual(all);
    });

    test('deletes a run whole and leaves its neighbours', async () => {
      const store = await withRun(2);
      await store.saveHeader(sampleHeader('a2')); // a name that begins alike
      await store.saveIteration('a2', sampleRecord(1), sampleRollouts(2, 9), sampleCheckpoint(1));
      await store.deleteRun('a');
      expect(await store.loadRun('a')).toBeNull();
      expect(await store.loadRecords('a')).toEqual([]);
      expect(await store.loadRollouts('a', 1)).toEqual([]);
      expect(await store.loadCheckpoint('a', 2)).toBeNull();
      expect((await store.loadRollouts('a2', 1)).map(bits)).toEqual(sampleRollouts(2, 9).map(bits));
      await store.deleteRun('never there');
    });

    test('keeps drafts', async () => {
      const store = await open();
      await store.saveDraft('one', 'First', { cells: [1] });
      await store.saveDraft('one', 'First again', { cells: [2] });
      await store.saveDraft('two', 'Second', null);
      expect(await store.loadDraft('one')).toMatchObject({ title: 'First again', value: { cells: [2] } });
      expect((await store.listDrafts()).map((d) => d.id).sort()).toEqual(['one', 'two']);
      expect((await store.listDrafts())[0]).not.toHaveProperty('value');
      await store.deleteDraft('one');
      expect(await store.loadDraft('one')).toBeNull();
    });
  });
}
