/**
 * `npm start [-- --port N --no-open]`: builds the site, serves the production build on localhost, prints the URL and opens a
 * browser where there is one.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, preview } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { port: { type: 'string' }, 'no-open': { type: 'boolean' } } });

/**
 * Opens the default browser; where there is none, nothing happens.
 * @param {string} url
 */
function openBrowser(url) {
  const onLinux = Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY);
  const { platform } = process;
  const [command, ...args] =
    platform === 'darwin' ? ['open', url] : platform === 'win32' ? ['cmd', '/c', 'start', '', url] : ['xdg-open', url];
  if (values['no-open'] || process.env.CI || (platform === 'linux' && !onLinux)) return;
  const child = spawn(command ?? '', args, { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

await build({ root, logLevel: 'warn' });
const server = await preview({
  root,
  logLevel: 'warn',
  preview: { port: Number(values.port ?? process.env.PORT ?? 4173), strictPort: false },
});
const address = server.httpServer.address();
if (!address || typeof address === 'string') throw new Error('The preview server has no port.');
const url = `http://localhost:${address.port}/`;
console.log(`\n  compaction-lab is at ${url}\n  Ctrl-C ends it.\n`);
openBrowser(url);

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(0));
