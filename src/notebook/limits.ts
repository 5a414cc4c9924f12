/** Bounds of a notebook document. A link comes from anywhere: nothing in it may be longer than a person would write. */
export const limits = {
  cells: 64,
  titleChars: 200,
  /** Of one prose cell. */
  proseChars: 20_000,
  /** Of all prose cells together. */
  totalProseChars: 200_000,
  /** Of quotes, lists and emphasis inside each other in prose: what draws them calls itself once for each. */
  proseDepth: 32,
  /** Of groups inside each other in one formula. */
  formulaDepth: 40,
  /** Of the JSON inside a link, before compression and after decompression. */
  jsonBytes: 1024 * 1024,
  /** Of a whole link fragment. Firefox stops at 1 MiB, Chromium at 2 MiB. */
  linkChars: 256 * 1024,
  /** Up to this length a link survives every chat program and mail client we know; longer ones are better sent as files. */
  comfortableLinkChars: 8_000,
} as const;
