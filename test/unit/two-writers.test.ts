/** Two real processes that write the same file at once. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { writeAtomically } from '../../src/headless/targets';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 }); // two processes start, on a busy machine

// Inside the project: the built files import packages by name.
const folder = mkdtempSync(join('node_modules', '.two-writers-'));
const at = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  writeFileSync(
    at('entry.ts'),
    `export * from '../../src/headless/kernel-cache'; export * from '../../src/headless/targets';`,
  );
  await build({
    configFile: false,
    logLevel: 'silent',
    publicDir: false,
    build: {
      ssr: at('entry.ts'),
      outDir: folder,
      emptyOutDir: false,
      rolldownOptions: { output: { entryFileNames: 'entry.mjs' } },
    },
  });
});

/** Runs `script` in two processes with `me` = a, b; both begin when both are ready. */
async function twoProcesses(script: string): Promise<void> {
  writeFileSync(
    at('child.mjs'),
    `import { FileKernelCache, writeAtomically } from './entry.mjs';
     const me = process.argv[2];
     process.stdout.write('ready');
     await new Promise((begin) => process.stdin.once('data', begin));
     process.stdin.destroy();
     ${script}`,
  );
  const children = ['a', 'b'].map((me) =>
    spawn(process.execPath, [at('child.mjs'), me], { stdio: ['pipe', 'pipe', 'pipe'] }),
  );
  const errors: string[] = [];
  for (const child of children) child.stderr.on('data', (text) => errors.push(String(text)));
  const ended = children.map((child) => new Promise((resolve) => child.on('exit', resolve)));
  const ready = children.map((child) => new Promise((resolve) => child.stdout.once('data', resolve)));
  await Promise.race([Promise.all(ready), Promise.all(ended)]);
  for (const child of children) child.stdin.write('go');
  expect([await Promise.all(ended), errors]).toEqual([[0, 0], []]);
}

test('the cache of kernel measurements keeps the entries of both', async () => {
  const path = join(folder, 'cache', 'autotune.json');
  await twoProcesses(`
    const cache = new FileKernelCache(${JSON.stringify(path)}, (notice) => console.error(JSON.stringify(notice)));
    for (let i = 0; i < 30; i++) await cache.saveKernels('adapter', '1', me + i, { i });`);
  const { entries } = JSON.parse(readFileSync(path, 'utf8')) as { entries: { model: string }[] };
  const wanted = ['a', 'b'].flatMap((me) => Array.from({ length: 30 }, (_, i) => me + i));
  expect(entries.map(({ model }) => model).sort()).toEqual(wanted.sort());
  expect(readdirSync(join(folder, 'cache'))).toEqual(['autotune.json']);
});

test('a file is that of one of them, whole', async () => {
  const path = at('whole.txt');
  await twoProcesses(`
    for (let i = 0; i < 40; i++) await writeAtomically(${JSON.stringify(path)}, me.repeat(200_000));`);
  expect(readFileSync(path, 'utf8')).toMatch(/^(a{200000}|b{200000})$/);
  expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
});

test('so it is with two writes of one process', async () => {
  const path = at('same.txt');
  await Promise.all(['a', 'b', 'c', 'd'].map((text) => writeAtomically(path, text.repeat(200_000))));
  expect(readFileSync(path, 'utf8')).toMatch(/^([abcd])\1{199999}$/);
});
