import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { floors, importsOf, lengthRules, violations, withoutComments } from './floors.rules';

const root = fileURLToPath(new URL('../..', import.meta.url));

function sources(folder: string, end = '.ts'): [string, string][] {
  return readdirSync(`${root}${folder}`).flatMap((name): [string, string][] => {
    const path = `${folder}/${name}`;
    if (statSync(root + path).isDirectory()) return sources(path, end);
    return name.endsWith(end) ? [[path, readFileSync(root + path, 'utf8')]] : [];
  });
}

describe('the project', () => {
  const files = new Map(sources('src'));
  test('keeps its floors, its purity and its limits', () => {
    expect(files.size).toBeGreaterThan(5);
    expect(violations(files)).toEqual([]);
  });
  test('has no file that is too long to read, tests and shaders included', () => {
    const all = new Map([...sources('test'), ...sources('shaders', '.wgsl')]);
    expect(all.size).toBeGreaterThan(100);
    expect([...all].flatMap(([path, source]) => lengthRules(path, source))).toEqual([]);
  });
  test('has no folder without a floor', () => {
    const folders = readdirSync(`${root}src`, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map((entry) => entry.name).filter((name) => !(name in floors))).toEqual([]);
  });
});

/** Each rule, broken once: the first file is the offender, the others are there to be imported. */
const broken: readonly { what: string; files: Record<string, string>; message: RegExp }[] = [
  {
    what: 'an import of a higher floor',
    files: { 'src/core/a.ts': "import { b } from '../env/b';", 'src/env/b.ts': '' },
    message: /src\/core\/a\.ts: floor 0 \(core\) imports \.\.\/env\/b/,
  },
  {
    what: 'an import of a neighbour on the same floor',
    files: { 'src/env/a.ts': "export { b } from '../gpu/b';", 'src/gpu/b.ts': '' },
    message: /floor 1 \(env\)/,
  },
  {
    what: 'a type from a higher floor',
    files: { 'src/model/a.ts': "import type { B } from '../run/b';", 'src/run/b.ts': '' },
    message: /floor 2 \(model\)/,
  },
  {
    what: 'a worker of a higher floor',
    files: { 'src/store/a.ts': "new Worker(new URL('../run/b.ts', import.meta.url))", 'src/run/b.ts': '' },
    message: /floor 1 \(store\)/,
  },
  {
    what: 'a lazy import of a higher floor',
    files: { 'src/run/a.ts': "const b = await import('../ui/b');", 'src/ui/b.ts': '' },
    message: /floor 3 \(run\)/,
  },
  {
    what: 'a page that reaches past the client',
    files: { 'src/ui/a.ts': "import { B } from '../model/b';", 'src/model/b.ts': '' },
    message: /must go through run\/client/,
  },
  {
    what: 'an import from the tests',
    files: { 'src/run/a.ts': "import { o } from '../../test/oracle/o';" },
    message: /outside src/,
  },
  {
    what: 'a cycle of three',
    files: {
      'src/run/a.ts': "import { b } from './b';",
      'src/run/b.ts': "import {\n  c,\n} from './c';",
      'src/run/c.ts': "export * from './a';",
    },
    message: /import cycle src\/run\/a\.ts → src\/run\/b\.ts → src\/run\/c\.ts → src\/run\/a\.ts/,
  },
  {
    what: 'rooms that need each other, if only for a type',
    files: {
      'src/run/a/a.ts': "import type { B } from '../b/b';",
      'src/run/b/b.ts': "import { c } from '../c/c';",
      'src/run/c/c.ts': '',
      'src/run/c/d.ts': "import { a } from '../a/a';",
    },
    message: /src\/run\/a\/a\.ts: rooms in a circle src\/run\/a → src\/run\/b → src\/run\/c → src\/run\/a/,
  },
  {
    what: 'a room without a head',
    files: { 'src/core/room/other.ts': '' },
    message: /src\/core\/room: no head file src\/core\/room\/room\.ts/,
  },
  {
    what: 'a shader bound outside src/gpu',
    files: { 'src/model/a.ts': "import code from '../../shaders/a.wgsl?raw';" },
    message: /shaders are bound in src\/gpu only/,
  },
  { what: 'chance in core', files: { 'src/core/a.ts': 'const x = Math.random();' }, message: /Math\.random/ },
  { what: 'a clock in core', files: { 'src/core/a.ts': 'const x = Date.now();' }, message: /Date/ },
  { what: 'another clock in core', files: { 'src/core/a.ts': 'const x = performance.now();' }, message: /performance/ },
  { what: 'the page in core', files: { 'src/core/a.ts': 'document.title = "";' }, message: /document/ },
  { what: 'the window in core', files: { 'src/core/a.ts': 'window.alert("")' }, message: /window/ },
  { what: 'the navigator in core', files: { 'src/core/a.ts': 'const x = navigator.gpu;' }, message: /navigator/ },
  { what: 'the GPU in core', files: { 'src/core/a.ts': 'let device: GPUDevice;' }, message: /WebGPU/ },
  { what: 'a node module in core', files: { 'src/core/a.ts': "import 'node:fs';" }, message: /core imports node:fs/ },
  {
    what: 'a second owner of the device',
    files: { 'src/gpu/a.ts': 'await adapter.requestDevice();' },
    message: /only src\/gpu\/device\.ts/,
  },
  {
    what: 'a second reader of the address',
    files: { 'src/ui/a.ts': 'location.hash' },
    message: /only src\/ui\/share\.ts/,
  },
  { what: 'a long file', files: { 'src/run/a.ts': 'x;\n'.repeat(351) }, message: /351 lines/ },
  { what: 'a name that is not kebab-case', files: { 'src/run/aB.ts': '' }, message: /kebab-case/ },
];

describe('the rules catch', () => {
  test.each(broken)('$what', ({ files, message }) => {
    const found = violations(new Map(Object.entries(files)));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(message);
  });
});

test('a shader is no longer than a file may be, and no wider than a page', () => {
  expect(lengthRules('shaders/a.wgsl', `// ${'λ'.repeat(117)}\n`)).toEqual([]);
  expect(lengthRules('shaders/a.wgsl', `// ${'λ'.repeat(118)}\n`)).toEqual([
    'shaders/a.wgsl:1: 121 columns; the limit is 120',
  ]);
  expect(lengthRules('shaders/a.wgsl', '\n'.repeat(351))).toEqual(['shaders/a.wgsl: 351 lines; the limit is 350']);
});

test('the rules let through what is allowed', () => {
  const files = new Map([
    [
      'src/core/a.ts',
      '/** Not Math.random(): see Date.now() and `document.title`. */\nconst window = config.window; // navigator.gpu\n' +
        "const text = 'https://example.org/*'; const at = /[/*]\"/.test(text); import { b } from './b';",
    ],
    ['src/core/b.ts', "import type { A } from './a';"],
    ['src/gpu/device.ts', 'await gpu.requestAdapter(); await adapter.requestDevice();'],
    ['src/gpu/k.ts', "import code from '../../shaders/k.wgsl?raw';"],
    ['src/ui/share.ts', 'location.hash = ""; history.replaceState(null, "", "")'],
    ['src/run/worker.ts', "const base = new URL('..', self.location.href);"],
    ['src/ui/b.ts', "import type { Scores } from '../model/engine';"],
    ['src/model/engine.ts', "import { LabError } from '../core/b';"],
  ]);
  expect(violations(files)).toEqual([]);
});

test('comments are told from strings and regular expressions', () => {
  expect(withoutComments("a = '//x'; // y\nb = /\\/\\*/.test(c); /* d\n */ e")).toBe(
    "a = '//x';     \nb = /\\/\\*/.test(c);     \n    e",
  );
  expect(
    importsOf("// import 'a'\nimport 'b';\nimport type { C } from 'c';\nexport { d } from 'd';").map(
      (e) => e.specifier,
    ),
  ).toEqual(['b', 'c', 'd']);
});
