import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';

/** Bundles worker entries for Node, as the headless build does. @returns the URL of each built file, by entry name */
export async function buildWorkers<Name extends string>(entries: Record<Name, string>): Promise<Record<Name, URL>> {
  const outDir = await mkdtemp(join(tmpdir(), 'lab-workers-'));
  const path = (relative: string) => fileURLToPath(new URL(`../../../${relative}`, import.meta.url));
  const names = Object.keys(entries) as Name[];
  await build({
    configFile: false,
    publicDir: false,
    logLevel: 'error',
    // Everything is bundled: the files lie outside the project, where Node finds no packages.
    ssr: { noExternal: true, target: 'node' },
    build: {
      ssr: true,
      outDir,
      target: 'node20',
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(names.map((name) => [name, path(entries[name])])),
        output: { format: 'es', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  });
  return Object.fromEntries(names.map((name) => [name, pathToFileURL(join(outDir, `${name}.mjs`))])) as Record<
    Name,
    URL
  >;
}
