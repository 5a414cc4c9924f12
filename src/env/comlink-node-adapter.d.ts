/** comlink ships types for this file under another name (node-adapter.d.ts); remove when it exports `node-adapter` with types. */
declare module 'comlink/dist/esm/node-adapter.mjs' {
  export { default } from 'comlink/dist/esm/node-adapter';
}
