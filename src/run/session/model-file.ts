/** Models as safetensors: named tensors that open in Python, and metadata that says what made them. */

import { inFile, LabError } from '../../core/errors';
import { requireShallow } from '../../core/json-depth';
import type { ModelState } from '../../core/protocol/protocol';
import { type NamedTensor, readSafetensors, requireTensor, writeSafetensors } from '../../core/safetensors';
import { type ModelShape, parameterLayout, requireFiniteParameters, tensorOf } from '../../model/parameters';

/** A model with its architecture and where it comes from. */
export interface ModelFile {
  readonly shape: ModelShape;
  /** Flat, as `parameterLayout(shape)` says. */
  readonly parameters: Float32Array;
  readonly metadata: ReadonlyMap<string, string>;
}

function named(prefix: string, shape: ModelShape, flat: Float32Array): NamedTensor[] {
  const layout = parameterLayout(shape);
  return layout.entries.map((e) => ({ name: prefix + e.name, shape: e.shape, data: tensorOf(flat, layout, e.name) }));
}

function flatOf(
  file: ReturnType<typeof readSafetensors>,
  prefix: string,
  shape: ModelShape,
  where: string,
): Float32Array {
  const layout = parameterLayout(shape);
  // All tensors are looked at before memory is asked for: a file may claim any shape.
  for (const entry of layout.entries) requireTensor(file, prefix + entry.name, entry.shape);
  const flat = new Float32Array(layout.total);
  for (const entry of layout.entries) flat.set(requireTensor(file, prefix + entry.name, entry.shape), entry.offset);
  requireFiniteParameters(flat, layout, prefix, where);
  return flat;
}

/** A policy as a file. */
export function writeModel(shape: ModelShape, parameters: Float32Array, metadata: Readonly<Record<string, string>>) {
  return writeSafetensors(named('', shape, parameters), { ...metadata, shape: JSON.stringify(shape) });
}

const shapeKeys = ['vocabulary', 'dModel', 'layers', 'heads', 'mlp', 'positions'] as const;

function parseShape(text: string | undefined, where: string): ModelShape {
  try {
    const raw = requireShallow(JSON.parse(text ?? ''), where) as Record<string, unknown>;
    const sane = shapeKeys.every((k) => {
      const n = raw[k];
      return typeof n === 'number' && Number.isInteger(n) && n > 0 && n <= 65536;
    });
    if (sane && typeof raw.previousToken === 'boolean') return raw as unknown as ModelShape;
  } catch {
    // Reported below, as is a shape that is not one.
  }
  throw new LabError({
    code: 'model.shape',
    what: 'The checkpoint does not say what model it holds',
    where,
    expected: `metadata "shape" with ${shapeKeys.join(', ')}, previousToken`,
    got: (text ?? 'nothing').slice(0, 120),
    fix: 'Use a checkpoint written by this project.',
  });
}

/** Opens a file; errors of `read` name it. @param where the file's name */
function openFile<T>(
  bytes: Uint8Array,
  where: string,
  read: (file: ReturnType<typeof readSafetensors>, shape: ModelShape) => T,
): T {
  try {
    const file = readSafetensors(bytes);
    return read(file, parseShape(file.metadata.get('shape'), where));
  } catch (thrown) {
    throw inFile(thrown, where);
  }
}

/** Reads a policy. @param where file name for errors. @throws LabError when the file is damaged or of another kind */
export function readModel(bytes: Uint8Array, where: string): ModelFile {
  return openFile(bytes, where, (file, shape) => ({
    shape,
    parameters: flatOf(file, '', shape, where),
    metadata: file.metadata,
  }));
}

/** Everything a run needs to go on, in one file: `policy.…`, `critic.…` and their Adam moments `….adam_m.…`, `….adam_v.…`. */
export function writeTrainingState(
  shape: ModelShape,
  models: Readonly<Record<string, ModelState | null>>,
  metadata: Readonly<Record<string, string>>,
): Uint8Array<ArrayBuffer> {
  const tensors: NamedTensor[] = [];
  const steps: Record<string, number> = {};
  for (const [role, state] of Object.entries(models)) {
    if (!state) continue;
    steps[role] = state.step;
    tensors.push(...named(`${role}.`, shape, state.parameters));
    tensors.push(...named(`${role}.adam_m.`, shape, state.m), ...named(`${role}.adam_v.`, shape, state.v));
  }
  return writeSafetensors(tensors, { ...metadata, shape: JSON.stringify(shape), steps: JSON.stringify(steps) });
}

/** Optimiser steps by model. */
function parseSteps(text: string | undefined, where: string): [string, number][] {
  try {
    const steps = Object.entries(JSON.parse(text ?? '') as Record<string, unknown>);
    const sane = steps.every(([, step]) => Number.isSafeInteger(step) && (step as number) >= 0);
    if (sane) return steps as [string, number][];
  } catch {
    // Reported below, as are steps that are none.
  }
  throw new LabError({
    code: 'model.steps',
    what: 'The checkpoint does not say how far its optimisers are',
    where,
    expected: 'metadata "steps" with a whole number for each model',
    got: (text ?? 'nothing').slice(0, 120),
    fix: 'Use a checkpoint.safetensors written by "lab run".',
  });
}

/**
 * Reads what `writeTrainingState` wrote.
 * @throws LabError when the file is damaged or of another kind
 */
export function readTrainingState(
  bytes: Uint8Array,
  where: string,
): { models: Record<string, ModelState>; metadata: ReadonlyMap<string, string>; shape: ModelShape } {
  return openFile(bytes, where, (file, shape) => {
    const models: Record<string, ModelState> = {};
    for (const [role, step] of parseSteps(file.metadata.get('steps'), where))
      models[role] = {
        parameters: flatOf(file, `${role}.`, shape, where),
        m: flatOf(file, `${role}.adam_m.`, shape, where),
        v: flatOf(file, `${role}.adam_v.`, shape, where),
        step,
      };
    return { models, metadata: file.metadata, shape };
  });
}

/**
 * Checks that a base policy fits a configuration.
 * @throws `model.mismatch` naming the key
 */
export function requireFit(base: ModelShape, wanted: ModelShape, where: string): void {
  for (const key of ['vocabulary', 'dModel', 'layers', 'heads', 'mlp', 'previousToken'] as const)
    if (base[key] !== wanted[key])
      throw new LabError({
        code: 'model.mismatch',
        what: 'The base policy has another architecture than the configuration',
        where: `${where}: ${key}`,
        expected: String(base[key]),
        got: String(wanted[key]),
        fix: `Set ${key} to ${base[key]}, or choose another base.`,
      });
  if (base.positions < wanted.positions)
    throw new LabError({
      code: 'model.positions',
      what: 'The window is larger than the base policy was trained for',
      where: `${where}: window`,
      expected: `at most ${base.positions / 2} tokens (a 2× window must fit its ${base.positions} positions)`,
      got: `${wanted.positions / 2}`,
      fix: 'Lower window, or choose another base.',
    });
}
