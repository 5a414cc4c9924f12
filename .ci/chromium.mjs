/** Where Chromium is, and the flags that give it a WebGPU adapter without a graphics card. */
import { createRequire } from 'node:module';
import { findExecutable, windowsPlaces } from './executable.mjs';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

const fixedPlaces = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  ...windowsPlaces('Google/Chrome/Application/chrome.exe'),
];

/**
 * The browser for tests: CHROMIUM_PATH, CHROME_BIN, the system's own, or one that playwright-core downloaded.
 * @returns {string | undefined}
 */
export function findChromium() {
  return findExecutable([process.env.CHROMIUM_PATH, process.env.CHROME_BIN], names, [
    ...fixedPlaces,
    ...playwrightBrowser(),
  ]);
}

function playwrightBrowser() {
  try {
    return [createRequire(import.meta.url)('playwright-core').chromium.executablePath()];
  } catch {
    return []; // not installed yet, or no build for this platform
  }
}

const quiet = [
  '--no-sandbox', // tests run as root in containers, where the sandbox cannot start
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

/**
 * Launch flags.
 * @param {{ webgpu?: boolean }} [options] `webgpu: false` gives a browser in which `navigator.gpu` has no adapter
 * @returns {string[]}
 */
export function chromiumFlags({ webgpu = true } = {}) {
  return webgpu ? [...quiet, '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'] : quiet;
}
