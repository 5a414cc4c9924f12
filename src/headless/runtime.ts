/** What headless commands share: device, terminals, base files, provenance. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type PartialConfig, parseConfig, parsePartialConfig, type RunConfig } from '../core/config';
import { LabError } from '../core/errors';
import { acquireDevice, type GpuContext } from '../gpu/device';
import { isPreset, presets } from '../run/presets';
import type { BaseLoader } from '../run/session';
import { dawnGpu } from './dawn';

/** Where the shipped bases are, seen from the project folder the command runs in. */
export const basesFolder = 'public/bases';

export const baseFromDisk: BaseLoader = async (name) => {
  const path = join(basesFolder, `${name}.safetensors`);
  return existsSync(path) ? readFile(path) : null;
};

/** A device for one command, and a one-line description for results. */
export async function openDevice(): Promise<{ context: GpuContext; adapter: string }> {
  const context = await acquireDevice(await dawnGpu());
  const { vendor, architecture, description } = context.adapter;
  return { context, adapter: [vendor, architecture, description].filter(Boolean).join(' ') };
}

/** `key=value` settings of `--set`, checked key by key. @throws LabError naming the first bad one */
export function parseSettings(settings: readonly string[]): PartialConfig {
  const input: [string, string][] = settings.map((setting) => {
    const at = setting.indexOf('=');
    if (at > 0) return [setting.slice(0, at), setting.slice(at + 1)];
    throw new LabError({
      code: 'usage.bad-value',
      what: 'Bad value for --set',
      expected: 'key=value',
      got: JSON.stringify(setting.slice(0, 64)),
      fix: 'For example: --set iterations=10',
    });
  });
  const { values, issues } = parsePartialConfig(Object.fromEntries(input));
  if (issues[0]) throw new LabError(issues[0]);
  return values;
}

/** The configuration of a preset or a JSON file, with settings on top. */
export async function readConfig(
  source: string,
  settings: readonly string[],
): Promise<{ config: RunConfig; preset: string | null }> {
  const changes = parseSettings(settings);
  if (isPreset(source)) return { config: parseConfig({ ...presets[source].config, ...changes }), preset: source };
  if (!existsSync(source))
    throw new LabError({
      code: 'config.not-found',
      what: 'There is neither such a preset nor such a file',
      where: source.slice(0, 120),
      expected: `${Object.keys(presets).join(', ')}, or a JSON file`,
      fix: 'Check the spelling.',
    });
  let input: unknown;
  try {
    input = JSON.parse(await readFile(source, 'utf8'));
  } catch (cause) {
    throw new LabError(
      {
        code: 'config.not-json',
        what: 'The configuration file is not JSON',
        where: source,
        expected: 'a JSON object of configuration keys',
        got: (cause as Error).message,
        fix: 'Correct the file at that place.',
      },
      { cause },
    );
  }
  const { values, issues } = parsePartialConfig(input);
  if (issues[0]) throw new LabError({ ...issues[0], where: `${source}: ${issues[0].where}` });
  return { config: parseConfig({ ...values, ...changes }), preset: null };
}
