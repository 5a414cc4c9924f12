/** What shipped-formulas.ts exports, worked out at build time. */
declare module 'virtual:shipped-formulas' {
  export const shippedFormulas: Readonly<Record<string, string>>;
}
