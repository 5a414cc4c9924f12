/** A Chromium for benchmarks, with software WebGPU so that a page finds an adapter on any machine. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { LabError } from '../core/errors';

/** No sandbox: containers do not allow it to root. */
const FLAGS = ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'];

/** Starts a browser, uses it and closes it. @throws `bench.no-chromium` */
export async function withChromium<T>(use: (browser: Browser) => Promise<T>): Promise<T> {
  const { CHROMIUM_PATH, CHROME_BIN } = process.env;
  const executablePath = CHROMIUM_PATH ?? CHROME_BIN ?? '/usr/bin/chromium';
  if (!existsSync(executablePath))
    throw new LabError({
      code: 'bench.no-chromium',
      what: 'No Chromium',
      where: executablePath,
      fix: 'Set CHROMIUM_PATH.',
    });
  const browser = await chromium.launch({ executablePath, args: FLAGS, headless: true });
  try {
    return await use(browser);
  } finally {
    await browser.close();
  }
}
