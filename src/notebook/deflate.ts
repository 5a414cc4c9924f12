/** Raw deflate by the platform's own streams, with a bound on what may come out. */

/** Deflate expands at most 1032 : 1, so one piece of input queues at most about 1 MB of output before it is counted. */
const PIECE_BYTES = 1024;

/** Thrown by `inflateRaw` when the output passes its bound. */
export class InflateLimitError extends Error {
  override name = 'InflateLimitError';
}

/** Compresses. The bytes may differ between platforms; what they inflate to does not. */
export function deflateRaw(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return pump(new CompressionStream('deflate-raw'), bytes, Number.POSITIVE_INFINITY);
}

/**
 * Decompresses.
 * @throws InflateLimitError above `maxBytes`; a TypeError or platform error for damaged input
 */
export function inflateRaw(bytes: Uint8Array<ArrayBuffer>, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  return pump(new DecompressionStream('deflate-raw'), bytes, maxBytes);
}

async function pump(
  stream: CompressionStream | DecompressionStream,
  bytes: Uint8Array<ArrayBuffer>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const writer = stream.writable.getWriter();
  const reader = stream.readable.getReader();
  const feed = async (): Promise<void> => {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) await writer.write(bytes.slice(at, at + PIECE_BYTES));
    await writer.close();
  };
  const drain = async (): Promise<Uint8Array[]> => {
    const parts: Uint8Array[] = [];
    let total = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return parts;
      total += value.length;
      if (total > maxBytes) throw new InflateLimitError(`more than ${maxBytes} bytes`);
      parts.push(value);
    }
  };
  try {
    const [, parts] = await Promise.all([feed(), drain()]);
    return concatenate(parts);
  } catch (error) {
    // Both ends are let go, or the other half would wait for ever. Their own complaints about it tell nothing new.
    reader.cancel(error).catch(() => {});
    writer.abort(error).catch(() => {});
    throw error;
  }
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
