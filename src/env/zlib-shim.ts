/**
 * Stands in for `node:zlib` in the browser bundle: just-bash/browser imports three of its names for `gzip` and friends.
 * Built over fflate. Remove when just-bash's browser entry no longer imports node:zlib (its docs say that these commands
 * are not for browsers, yet the import is static).
 */
import { type DeflateOptions, gunzipSync as gunzip, gzipSync as gzip } from 'fflate';

/** The zlib constants just-bash uses. */
export const constants = {
  Z_BEST_SPEED: 1,
  Z_BEST_COMPRESSION: 9,
  Z_DEFAULT_COMPRESSION: -1,
} as const;

/** @param options.level −1 (default) to 9 */
export function gzipSync(data: Uint8Array, options: { level?: number } = {}): Uint8Array {
  const { level = -1 } = options;
  const fflateLevel = (level < 0 ? 6 : Math.min(9, level)) as NonNullable<DeflateOptions['level']>;
  return gzip(data, { level: fflateLevel, mtime: 0 });
}

/**
 * @param options.maxOutputLength bytes; the length the stream states is checked before anything is allocated
 * @throws RangeError over the limit, Error on malformed data
 */
export function gunzipSync(data: Uint8Array, options: { maxOutputLength?: number } = {}): Uint8Array {
  const limit = options.maxOutputLength ?? Number.POSITIVE_INFINITY;
  const stated =
    data.length < 4 ? 0 : new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(data.length - 4, true);
  const tooLong = () => new RangeError(`Cannot create a Buffer larger than ${limit} bytes`);
  if (stated > limit) throw tooLong();
  const output = gunzip(data);
  if (output.length > limit) throw tooLong();
  return output;
}
