/** The house rules that a program can check, as pure functions over a map from path to text. See floors.test.ts. */
import { posix } from 'node:path';

/** Floor of each folder of src. A file imports lower floors or its own folder. */
export const floors: Readonly<Record<string, number>> = {
  core: 0,
  env: 1,
  gpu: 1,
  store: 1,
  notebook: 1,
  model: 2,
  run: 3,
  ui: 4,
  headless: 4,
  bench: 4,
};

const MAX_LINES = 350;
const MAX_SHADER_COLUMNS = 120;

/** Floors whose rooms have a head file named like the folder: who opens a room knows where to begin. */
const headed: readonly string[] = ['core', 'run'];
/** Rooms of equals, without a head. */
const headless: readonly string[] = ['src/core/statistics'];

export interface ImportEdge {
  /** The specifier as written. */
  readonly specifier: string;
  /** `type`: erased; `value`: evaluated at load; `lazy`: import() or a worker's URL. */
  readonly kind: 'type' | 'value' | 'lazy';
}

/** Comments become blanks (line breaks stay); strings, templates and regular expressions are left as they are. */
export function withoutComments(source: string): string {
  const token =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`|(?<=[(,=:[!&|?{};]\s*|\breturn\s)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//g;
  return source.replace(token, (text) =>
    text.startsWith('//') || text.startsWith('/*') ? text.replace(/[^\n]/g, ' ') : text,
  );
}

/** Every module a source text names. */
export function importsOf(source: string): ImportEdge[] {
  const code = withoutComments(source);
  const edges: ImportEdge[] = [];
  const statement = /^[ \t]*(?:import|export)\b(\s+type\b(?!\s*,))?(?:[\w\s{},*$]*?\bfrom)?\s*['"]([^'"]+)['"]/gm;
  for (const [, type, specifier] of code.matchAll(statement)) {
    edges.push({ specifier: specifier ?? '', kind: type ? 'type' : 'value' });
  }
  const lazy = /\bimport\(\s*['"]([^'"]+)['"]|\bnew URL\(\s*['"](\.[^'"]+)['"]\s*,\s*import\.meta\.url/g;
  for (const [, imported, url] of code.matchAll(lazy)) {
    edges.push({ specifier: imported ?? url ?? '', kind: 'lazy' });
  }
  return edges;
}

/** Folder of src a path lies in: `src/env/tasks/chain.ts` → `env`. */
function folderOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** The file a relative specifier means, or undefined for packages and for assets outside src. */
function resolve(files: ReadonlyMap<string, string>, from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const bare = posix.join(posix.dirname(from), specifier.replace(/\?.*$/, ''));
  const candidates = [bare, `${bare}.ts`, `${bare}/index.ts`, bare.replace(/\.js$/, '.ts')];
  return candidates.find((path) => files.has(path)) ?? bare;
}

/** All broken rules, one line each: `path: what`. Keys are paths from the repository root, `src/…`. */
export function violations(files: ReadonlyMap<string, string>): string[] {
  return [...files.entries()]
    .flatMap(([path, source]) => [...fileRules(path, source), ...importRules(files, path, source)])
    .concat(cycles(files).map((cycle) => `${cycle[0]}: import cycle ${cycle.join(' → ')}`))
    .concat(roomRules(files));
}

/** The room of a file: its floor and first folder, `src/run/trainer`; undefined for files that lie in no room. */
function roomOf(path: string): string | undefined {
  const [src, floor, room, file] = path.split('/');
  return src === 'src' && file !== undefined ? `${src}/${floor}/${room}` : undefined;
}

/**
 * Rooms of the headed floors: each has its head file, and no two need each other, not even for a type: what both need
 * belongs in one of them or below.
 */
function roomRules(files: ReadonlyMap<string, string>): string[] {
  const rooms = new Map<string, Map<string, string>>();
  for (const [path, source] of files) {
    const room = roomOf(path);
    if (room === undefined || !headed.includes(folderOf(path))) continue;
    const needs = rooms.get(room) ?? new Map<string, string>();
    rooms.set(room, needs);
    for (const { specifier } of importsOf(source)) {
      const other = roomOf(resolve(files, path, specifier) ?? '');
      if (other !== undefined && other !== room && !needs.has(other)) needs.set(other, path);
    }
  }
  const found: string[] = [];
  for (const room of rooms.keys()) {
    const head = `${room}/${posix.basename(room)}.ts`;
    if (!files.has(head) && !headless.includes(room)) found.push(`${room}: no head file ${head}`);
  }
  const done = new Set<string>();
  const visit = (room: string, stack: readonly string[]): void => {
    if (stack.includes(room)) {
      const circle = [...stack.slice(stack.indexOf(room)), room];
      found.push(`${rooms.get(circle[0] ?? '')?.get(circle[1] ?? '')}: rooms in a circle ${circle.join(' → ')}`);
      return;
    }
    if (done.has(room)) return;
    for (const other of rooms.get(room)?.keys() ?? []) visit(other, [...stack, room]);
    done.add(room);
  };
  for (const room of rooms.keys()) visit(room, []);
  return found;
}

function importRules(files: ReadonlyMap<string, string>, path: string, source: string): string[] {
  const own = folderOf(path);
  const floor = floors[own];
  if (floor === undefined) return [`${path}: no such floor: ${own}`];
  return importsOf(source).flatMap(({ specifier, kind }) => {
    if (own === 'core' && specifier.startsWith('node:')) return [`${path}: core imports ${specifier}`];
    const target = resolve(files, path, specifier);
    if (target === undefined) return [];
    if (!target.startsWith('src/')) {
      // Shaders are the ground that src/gpu stands on; everybody else goes through src/gpu.
      if (target.startsWith('shaders/'))
        return own === 'gpu' ? [] : [`${path}: imports ${target}; shaders are bound in src/gpu only`];
      return /^(public\/|package\.json$)/.test(target) ? [] : [`${path}: imports ${target}, outside src`];
    }
    const other = folderOf(target);
    const otherFloor = floors[other];
    if (other === own) return [];
    if (otherFloor === undefined || otherFloor >= floor) {
      return [`${path}: floor ${floor} (${own}) imports ${specifier}, floor ${otherFloor} (${other})`];
    }
    // The page talks to the trainer's worker only; the shape of a message is no dependency.
    if (own === 'ui' && (other === 'gpu' || other === 'model') && kind !== 'type') {
      return [`${path}: the page imports ${other}/ (${specifier}); it must go through run/client`];
    }
    return [];
  });
}

/** What core must not touch: clocks, chance, the page, the graphics card, the process. */
const impure: readonly [RegExp, string][] = [
  [/\bMath\s*\.\s*random\b/, 'Math.random'],
  [/\bnew\s+Date\b|(?<![.\w])Date\s*[.(]/, 'Date'],
  [/(?<![.\w])(?:globalThis\s*\.\s*)?performance\s*\.\s*\w/, 'performance'],
  [/(?<![.\w])document\s*\.\s*\w/, 'document'],
  [/(?<![.\w])window\s*\.\s*(?:\w+\s*\(|location|document|navigator)/, 'window'],
  [/(?<![.\w])navigator\s*[.?]/, 'navigator'],
  [/\bGPU(?:[A-Z]\w*)?\b(?!['`"\s-])/, 'a WebGPU type'],
  [/(?<![.\w])process\s*\.\s*\w/, 'process'],
  [/(?<![.\w])(?:fetch|setTimeout|setInterval|queueMicrotask)\s*\(/, 'fetch or a timer'],
];

function fileRules(path: string, source: string): string[] {
  const code = withoutComments(source);
  const found: string[] = [];
  if (path.startsWith('src/core/')) {
    for (const [pattern, name] of impure)
      if (pattern.test(code)) found.push(`${path}: core must be pure but uses ${name}`);
  }
  if (path !== 'src/gpu/device.ts' && /\.\s*request(?:Device|Adapter)\s*\(/.test(code)) {
    found.push(`${path}: only src/gpu/device.ts asks for an adapter or a device`);
  }
  // A worker's own `location.href` (where its script lies) is no page address.
  const address = path.startsWith('src/ui/')
    ? /\blocation\s*\.\s*(?:hash|href|replace|assign)\b/
    : /\blocation\s*\.\s*hash\b/;
  if (path !== 'src/ui/share.ts' && (address.test(code) || /\b(?:push|replace)State\s*\(/.test(code))) {
    found.push(`${path}: only src/ui/share.ts reads or writes the address`);
  }
  found.push(...lengthRules(path, source));
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z]+)+$/.test(posix.basename(path)))
    found.push(`${path}: not a kebab-case name`);
  return found;
}

/** How long a file may be; and how wide a shader, which no formatter wraps. */
export function lengthRules(path: string, source: string): string[] {
  const lines = source.split('\n');
  const count = lines.length - 1;
  const found = count > MAX_LINES ? [`${path}: ${count} lines; the limit is ${MAX_LINES}`] : [];
  if (path.endsWith('.wgsl'))
    lines.forEach((line, i) => {
      const columns = [...line].length;
      if (columns > MAX_SHADER_COLUMNS)
        found.push(`${path}:${i + 1}: ${columns} columns; the limit is ${MAX_SHADER_COLUMNS}`);
    });
  return found;
}

/** Cycles among imports that are evaluated at load time (types are erased, lazy imports run later). */
function cycles(files: ReadonlyMap<string, string>): string[][] {
  const state = new Map<string, 'open' | 'done'>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (path: string): void => {
    state.set(path, 'open');
    stack.push(path);
    for (const { specifier, kind } of importsOf(files.get(path) ?? '')) {
      const target = kind === 'value' ? resolve(files, path, specifier) : undefined;
      if (target === undefined || !files.has(target)) continue;
      if (state.get(target) === 'open') found.push([...stack.slice(stack.indexOf(target)), target]);
      else if (!state.has(target)) visit(target);
    }
    stack.pop();
    state.set(path, 'done');
  };
  for (const path of files.keys()) if (!state.has(path)) visit(path);
  return found;
}
