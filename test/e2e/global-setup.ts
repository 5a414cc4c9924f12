/** Builds the site unless a build newer than its sources is there, and serves it under a sub-path for all e2e tests. */
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { serveStatic } from './static-server';

/** No host puts a project at its root: GitHub Pages, for one, serves `/<repository>/`. */
const basePath = '/some/sub/path/';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Address of the built site, with a trailing slash. */
    siteUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { root } = project.config;
  const built = newest(`${root}/dist/index.html`);
  const sources = ['src', 'shaders', 'public', 'index.html', 'vite.config.ts', '.ci/formulas.mjs', 'package-lock.json'];
  if (built === 0 || sources.some((path) => newest(`${root}/${path}`) > built)) {
    // In a process of its own: here NODE_ENV is "test", which would give a development build.
    const vite = [`${root}/node_modules/vite/bin/vite.js`, 'build', '--logLevel', 'warn'];
    execFileSync(process.execPath, vite, {
      cwd: root,
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: 'inherit',
    });
  }
  const server = await serveStatic(`${root}/dist`, basePath);
  project.provide('siteUrl', server.url);
  return server.close;
}

/** Newest modification time in a file or folder, in ms; 0 when there is nothing. */
function newest(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(`${path}/${name}`)));
}
