/** Finds a Vulkan driver with which Dawn (WebGPU in Node) has an adapter. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const icds = '/usr/share/vulkan/icd.d';

/** Mesa's llvmpipe first: several times faster than SwiftShader. */
function softwareDrivers() {
  const mesa = existsSync(icds) ? readdirSync(icds).filter((name) => /^lvp_icd.*\.json$/.test(name)) : [];
  const swiftShader = [
    '/usr/lib/chromium/vk_swiftshader_icd.json',
    '/usr/lib/chromium-browser/vk_swiftshader_icd.json',
  ];
  return [...mesa.map((name) => join(icds, name)), ...swiftShader].filter((path) => existsSync(path));
}

const program = `
  const { create } = await import('webgpu');
  globalThis.keep = create([]);
  const adapter = await globalThis.keep.requestAdapter();
  if (adapter) console.log(adapter.info.description || adapter.info.device || adapter.info.vendor || 'unnamed adapter');
  process.exit(0);`;

/**
 * Asks Dawn, in a process of its own, for an adapter.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} the adapter's name
 */
function probe(env) {
  const result = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: root,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: 60_000,
  });
  return result.stdout?.trim() || undefined;
}

/**
 * The environment variables under which Dawn finds an adapter, and that adapter's name; undefined when there is none.
 * @returns {{ env: Record<string, string>, adapter: string } | undefined}
 */
export function findVulkan() {
  /** @type {Record<string, string>} */
  const common = process.env.XDG_RUNTIME_DIR ? {} : { XDG_RUNTIME_DIR: tmpdir() };
  const choices =
    process.platform !== 'linux' || process.env.VK_DRIVER_FILES || process.env.LAB_GPU === 'hardware'
      ? [common]
      : [...softwareDrivers().map((path) => ({ ...common, VK_DRIVER_FILES: path })), common];
  for (const env of choices) {
    const adapter = probe(env);
    if (adapter) return { env, adapter };
  }
  return undefined;
}
