/**
 * Terminal output and model text are untrusted: whatever could steer a terminal emulator is taken out before xterm sees
 * it. What stays is printable text, line feeds and tabs.
 */

const ESC = '\\u001b';
/** Escape sequences: CSI, then OSC/DCS/APC/PM/SOS strings with their terminator, then two-character escapes. */
const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|\\u009b)[0-?]*[ -/]*[@-~]?`,
    `${ESC}[\\]PX^_][^\\u0007\\u001b\\u009c]*(?:\\u0007|${ESC}\\\\|\\u009c)?`,
    `${ESC}[ -/]*[0-~]?`,
  ].join('|'),
  'g',
);
/** C0, delete, C1. */
const CONTROLS = /\p{Cc}/gu;
/** Characters that reorder or hide text. */
const BIDI = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** @returns the text without control sequences; carriage returns before line feeds are dropped */
export function sanitise(text: string): string {
  return text
    .replace(SEQUENCES, '')
    .replace(CONTROLS, (c) => (c === '\n' || c === '\t' ? c : ''))
    .replace(BIDI, '');
}
