/** Where Firefox is, the preferences that give it a WebGPU adapter without a graphics card, and the adapter it then finds. */
import { pathToFileURL } from 'node:url';
import { findExecutable, windowsPlaces } from './executable.mjs';

const names = process.platform === 'win32' ? ['firefox.exe'] : ['firefox-esr', 'firefox'];

const fixedPlaces = [
  '/Applications/Firefox.app/Contents/MacOS/firefox',
  ...windowsPlaces('Mozilla Firefox/firefox.exe'),
];

/**
 * The Firefox for tests: FIREFOX_PATH, or the system's own (ESR first).
 * @returns {string | undefined}
 */
export function findFirefox() {
  return findExecutable([process.env.FIREFOX_PATH], names, fixedPlaces);
}

const preferences = {
  // ESR on Linux has WebGPU switched off, and software drivers on its blocklist.
  'dom.webgpu.enabled': true,
  'gfx.webgpu.ignore-blocklist': true,
  'gfx.webgpu.force-enabled': true,
  // A test reads a shared link back from the clipboard; a reader would be asked by a button that no script can press.
  'dom.events.testing.asyncClipboard': true,
};

/** Starts a stock Firefox with a fresh profile, driven over WebDriver BiDi. */
export async function launchFirefox() {
  const executablePath = findFirefox();
  if (!executablePath) throw new Error('No Firefox: run `node .ci/setup.mjs test`, or set FIREFOX_PATH.');
  const { default: puppeteer } = await import('puppeteer-core');
  return puppeteer.launch({ browser: 'firefox', executablePath, headless: true, extraPrefsFirefox: preferences });
}

/**
 * The adapter that Firefox's pages get. Firefox withholds its name, so that of its kind stands in.
 * @param {string} file a local file to open: WebGPU wants a trustworthy origin
 * @returns {Promise<string | undefined>}
 */
export async function firefoxAdapter(file) {
  const browser = await launchFirefox();
  try {
    const page = await browser.newPage();
    await page.goto(pathToFileURL(file).href);
    const found = await page.evaluate(async () => {
      const adapter = await navigator.gpu?.requestAdapter();
      if (!adapter) return undefined;
      const { vendor, architecture, description, isFallbackAdapter } = adapter.info;
      const name = [vendor, architecture, description].join(' ').trim();
      return name || `unnamed ${isFallbackAdapter ? 'software' : 'hardware'} adapter`;
    });
    return found && `${found} (${(await browser.version()).replace(/^firefox\//i, 'Firefox ')})`;
  } finally {
    await browser.close();
  }
}
