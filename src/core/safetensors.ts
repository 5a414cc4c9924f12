/**
 * The safetensors file format (https://github.com/huggingface/safetensors), float32 only: eight bytes of little-endian
 * header length, a JSON header, then the tensors without holes. It opens in Python with one line and can run no code.
 */

import { LabError } from './errors';
import { requireShallow } from './json-depth';

/** One tensor: row-major data of `shape`. */
export interface NamedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** A file's contents. */
export interface Safetensors {
  /** In the order of their bytes in the file. */
  readonly tensors: ReadonlyMap<string, NamedTensor>;
  readonly metadata: ReadonlyMap<string, string>;
}

const LENGTH_BYTES = 8;
/** Headers here take a few kilobytes; the reference reader's own bound is 100 MB. */
const MAX_HEADER_BYTES = 4 * 1024 * 1024;
const METADATA = '__metadata__';

/**
 * Writes a file. The same input gives the same bytes.
 * @param tensors in file order; names unique and not `__metadata__`
 * @param metadata strings only, as the format wants; put JSON into a string
 * @throws LabError safetensors.bad-tensor when a shape does not fit its data or a name is taken
 */
export function writeSafetensors(
  tensors: Iterable<NamedTensor>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  const entries: [string, unknown][] = [];
  if (Object.keys(metadata).length > 0) entries.push([METADATA, metadata]);
  const list = [...tensors];
  const names = new Set([METADATA]);
  let dataBytes = 0;
  for (const { name, shape, data } of list) {
    if (names.has(name)) throw badTensor(name, 'a name used once', 'a second tensor of that name');
    if (sizeOf(shape) !== data.length) throw badTensor(name, `${data.length} values`, `shape [${shape.join(', ')}]`);
    names.add(name);
    const end = dataBytes + 4 * data.length;
    entries.push([name, { dtype: 'F32', shape: [...shape], data_offsets: [dataBytes, end] }]);
    dataBytes = end;
  }
  // fromEntries defines own properties, also for a tensor named `__proto__`.
  const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  // Spaces behind the JSON put the data on a multiple of eight bytes, as the reference writer does.
  const headerBytes = Math.ceil(json.length / 8) * 8;
  const file = new Uint8Array(LENGTH_BYTES + headerBytes + dataBytes);
  new DataView(file.buffer).setBigUint64(0, BigInt(headerBytes), true);
  file.fill(0x20, LENGTH_BYTES, LENGTH_BYTES + headerBytes);
  file.set(json, LENGTH_BYTES);
  let at = LENGTH_BYTES + headerBytes;
  for (const { data } of list) {
    // Every platform with WebGPU is little-endian, so the bytes in memory are the bytes of the file.
    file.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return file;
}

/**
 * Reads a file; every tensor is a copy of its own.
 * @throws LabError safetensors.invalid for anything the format forbids, and for dtypes other than F32
 */
export function readSafetensors(file: Uint8Array): Safetensors {
  const { header, dataStart } = readHeader(file);
  const dataBytes = file.length - dataStart;
  const ranges: { name: string; shape: number[]; begin: number; end: number }[] = [];
  let metadata = new Map<string, string>();
  for (const [name, value] of Object.entries(header)) {
    if (name === METADATA) metadata = readMetadata(value);
    else ranges.push({ name, ...readEntry(name, value, dataBytes) });
  }
  ranges.sort((a, b) => a.begin - b.begin || a.end - b.end);
  const tensors = new Map<string, NamedTensor>();
  let covered = 0;
  for (const { name, shape, begin, end } of ranges) {
    if (begin !== covered)
      throw invalid(name, `data from byte ${covered}: no overlap and no hole`, `data from byte ${begin}`);
    covered = end;
    // A copy, so aligned to its own buffer, wherever the header ends. Not by `slice`: Node's Buffer gives a view.
    const data = new Float32Array((end - begin) / 4);
    new Uint8Array(data.buffer).set(file.subarray(dataStart + begin, dataStart + end));
    tensors.set(name, { name, shape, data });
  }
  if (covered !== dataBytes) throw invalid('end of file', `${covered} bytes of data`, `${dataBytes}`);
  return { tensors, metadata };
}

/**
 * One tensor of a file, of a known shape.
 * @throws LabError safetensors.missing-tensor, safetensors.wrong-shape
 */
export function requireTensor(file: Safetensors, name: string, shape: readonly number[]): Float32Array {
  const tensor = file.tensors.get(name);
  const fix = 'Choose a checkpoint of the same model configuration.';
  if (!tensor)
    throw new LabError({
      code: 'safetensors.missing-tensor',
      what: 'The checkpoint lacks a tensor',
      where: name,
      expected: `shape [${shape.join(', ')}]`,
      got: `only ${[...file.tensors.keys()].slice(0, 8).join(', ') || 'an empty file'}`,
      fix,
    });
  if (tensor.shape.length !== shape.length || tensor.shape.some((n, axis) => n !== shape[axis]))
    throw new LabError({
      code: 'safetensors.wrong-shape',
      what: 'A tensor of the checkpoint does not fit the model',
      where: name,
      expected: `shape [${shape.join(', ')}]`,
      got: `[${tensor.shape.join(', ')}]`,
      fix,
    });
  return tensor.data;
}

function readHeader(file: Uint8Array): { header: object; dataStart: number } {
  if (file.length < LENGTH_BYTES) throw invalid('header length', 'at least 8 bytes', `${file.length}`);
  const length = new DataView(file.buffer, file.byteOffset, LENGTH_BYTES).getBigUint64(0, true);
  const most = BigInt(Math.min(MAX_HEADER_BYTES, file.length - LENGTH_BYTES));
  if (length > most) throw invalid('header length', `at most ${most} bytes`, `${length}`);
  const dataStart = LENGTH_BYTES + Number(length);
  let header: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      file.subarray(LENGTH_BYTES, dataStart),
    );
    if (!text.startsWith('{')) throw new SyntaxError('the header must start with {');
    header = JSON.parse(text);
  } catch (cause) {
    throw invalid('header', 'JSON in UTF-8', cause instanceof Error ? cause.message : String(cause), cause);
  }
  requireShallow(header, 'header of the safetensors file');
  if (!isObject(header)) throw invalid('header', 'an object', 'something else');
  return { header, dataStart };
}

function readMetadata(value: unknown): Map<string, string> {
  if (!isObject(value)) throw invalid(METADATA, 'an object of strings', JSON.stringify(value));
  const metadata = new Map<string, string>();
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw invalid(`${METADATA}.${key}`, 'a string', typeof text);
    metadata.set(key, text);
  }
  return metadata;
}

function readEntry(name: string, value: unknown, dataBytes: number): { shape: number[]; begin: number; end: number } {
  if (!isObject(value)) throw invalid(name, 'an object', JSON.stringify(value));
  const { dtype, shape, data_offsets: offsets } = value as Record<string, unknown>;
  if (dtype !== 'F32') throw invalid(`${name}.dtype`, 'F32', JSON.stringify(dtype));
  if (!isSizeList(shape)) throw invalid(`${name}.shape`, 'whole numbers ≥ 0', JSON.stringify(shape));
  if (!isSizeList(offsets) || offsets.length !== 2)
    throw invalid(`${name}.data_offsets`, '[begin, end]', JSON.stringify(offsets));
  const [begin, end] = offsets as [number, number];
  if (begin > end || end > dataBytes)
    throw invalid(`${name}.data_offsets`, `begin ≤ end ≤ ${dataBytes}`, JSON.stringify(offsets));
  if (end - begin !== 4 * sizeOf(shape))
    throw invalid(`${name}.data_offsets`, `4 bytes for each of shape [${shape.join(', ')}]`, `${end - begin} bytes`);
  return { shape, begin, end };
}

/** Product of a shape; 1 for a scalar. Beyond 2⁵³ it is inexact, and then equal to no length that a file can have. */
function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}

function isSizeList(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((n) => Number.isSafeInteger(n) && n >= 0);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function badTensor(name: string, expected: string, got: string): LabError {
  return new LabError({
    code: 'safetensors.bad-tensor',
    what: 'A tensor cannot be written',
    where: name,
    expected,
    got,
  });
}

function invalid(where: string, expected: string, got: string | undefined, cause?: unknown): LabError {
  return new LabError(
    {
      code: 'safetensors.invalid',
      what: 'This is not a valid safetensors file',
      where: where.slice(0, 120),
      expected,
      got: (got ?? 'nothing').slice(0, 120),
      fix: 'Choose a checkpoint written by this program, with float32 tensors only.',
    },
    { cause },
  );
}
