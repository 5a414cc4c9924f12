/** What headless commands share: device, terminals, base files, provenance. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  configNames,
  type PartialConfig,
  parseConfig,
  parsePartialConfig,
  type RunConfig,
} from '../core/config/config';
import { configTable } from '../core/config/config-table';
import { LabError, type LabErrorParts } from '../core/errors';
import { requireShallow } from '../core/json-depth';
import { dawnGpu } from '../gpu/dawn';
import { acquireDevice } from '../gpu/device';
import type { EngineKind } from '../model/engine';
import { isPreset, presets } from '../run/presets/presets';
import { type BaseLoader, type Machine, machineFor } from '../run/session/session';
import { didYouMean } from './nearest';
import { readBytes, readText, shown } from './system-error';

/** Where the shipped bases are, seen from the project folder the command runs in. */
export const basesFolder = 'public/bases';

export const baseFromDisk: BaseLoader = async (name) => {
  const path = join(basesFolder, `${name}.safetensors`);
  return existsSync(path) ? readBytes('base checkpoint', path) : null;
};

/** What one command computes with. jax-js runs on WebAssembly here, so no graphics adapter is asked for. */
export async function openMachine(engine: EngineKind): Promise<Machine> {
  if (engine === 'jax') return machineFor(null, engine);
  try {
    return machineFor(await acquireDevice(await dawnGpu()), engine);
  } catch (thrown) {
    if (!(thrown instanceof LabError) || thrown.code !== 'gpu.no-adapter') throw thrown;
    const fix = `${thrown.parts.fix} Or train without one: --set engine=jax`;
    throw new LabError({ ...thrown.parts, fix }, { cause: thrown });
  }
}

/** An error that comes from the arguments alone, as a usage error: exit code 2. */
function caused(parts: LabErrorParts): LabError {
  return new LabError({ ...parts, code: `usage.${parts.code}` });
}

/** Parses a configuration whose faults, if any, are those of the arguments. @throws usage.config.… */
export function parseArgumentConfig(input: unknown): RunConfig {
  try {
    return parseConfig(input);
  } catch (thrown) {
    throw thrown instanceof LabError ? caused(thrown.parts) : thrown;
  }
}

/** The error for a configuration key that does not exist, naming the nearest one. */
export function unknownKey(name: string, where: string): LabError {
  return new LabError({
    code: 'usage.unknown-key',
    what: `Unknown configuration key ${JSON.stringify(name.slice(0, 64))}`,
    where,
    expected: 'a key of the config table',
    fix: `${didYouMean(name, configNames)}List them with: lab config`,
  });
}

/** `key=value` settings of `--set`, checked key by key. @throws usage.… naming the first bad one */
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
  for (const [name] of input) if (!Object.hasOwn(configTable, name)) throw unknownKey(name, '--set');
  const { values, issues } = parsePartialConfig(Object.fromEntries(input));
  if (issues[0]) throw caused(issues[0]);
  return values;
}

/**
 * The configuration of a preset or a JSON file, with settings on top.
 * @throws usage.… where the arguments are wrong, config.… and file.… where the file is
 */
export async function readConfig(
  source: string,
  settings: readonly string[],
): Promise<{ config: RunConfig; preset: string | null }> {
  const changes = parseSettings(settings);
  if (isPreset(source))
    return { config: parseArgumentConfig({ ...presets[source].config, ...changes }), preset: source };
  if (!existsSync(source)) {
    const names = Object.keys(presets);
    throw new LabError({
      code: 'usage.no-such-preset',
      what: 'There is neither such a preset nor such a file',
      where: shown(source),
      expected: `${names.join(', ')}, or a JSON file`,
      fix: `${didYouMean(source, names)}See: lab config`,
    });
  }
  const { values, issues } = parsePartialConfig(
    await readJson('configuration file', source, 'a JSON object of configuration keys'),
  );
  if (issues[0]) throw new LabError({ ...issues[0], where: `${shown(source)}: ${issues[0].where}` });
  const whole = { ...values, ...changes };
  return { config: settings.length > 0 ? parseArgumentConfig(whole) : parseConfig(whole), preset: null };
}

/**
 * A file of JSON.
 * @param what the file in words, e.g. `configuration file`
 * @param expected what it should hold, for the error
 * @throws file.…, config.not-json, json.too-deep
 */
export async function readJson(what: string, path: string, expected: string): Promise<unknown> {
  const text = await readText(what, path);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new LabError(
      {
        code: 'config.not-json',
        what: `The ${what} is not JSON`,
        where: shown(path),
        expected,
        got: (cause as Error).message,
        fix: 'Correct the file at that place.',
      },
      { cause },
    );
  }
  return requireShallow(value, shown(path));
}
