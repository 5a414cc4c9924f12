/** Unpadded base64url: chat programs mangle `+`, `/` and a trailing `=`. */

/** @returns letters, digits, `-` and `_`; no padding */
export function toBase64Url(bytes: Uint8Array): string {
  let binary = '';
  // fromCharCode takes its arguments from the stack: 8 Ki of them are safe everywhere.
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @returns the bytes, or null when the text is not unpadded base64url */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}
