/** Drawings out of the page: several SVG elements put together as one SVG file, and that as a PNG. */
import { LabError } from '../core/errors';

/** One drawing of a figure with its heading. */
export interface Drawing {
  readonly title: string;
  readonly svg: Element;
}

const NS = 'http://www.w3.org/2000/svg';
const GAP = 20;
const TITLE = 22;
const NOTE_LINE = 15;
/** Width of a character of the note, px, about. */
const NOTE_CHARACTER = 5.8;
/** Pixels of the PNG file per pixel of the page. */
const PNG_SCALE = 2;

/** `var(--name)` as the page resolves it now: outside of the page there are no such variables. */
function resolved(value: string): string {
  const root = getComputedStyle(document.documentElement);
  return value.replace(/var\((--[\w-]+)\)/g, (_, name: string) => root.getPropertyValue(name).trim());
}

function resolveAll(element: Element): void {
  for (const attribute of element.attributes)
    if (attribute.value.includes('var(')) attribute.value = resolved(attribute.value);
  if (element.localName === 'style') element.textContent = resolved(element.textContent ?? '');
  for (const child of element.children) resolveAll(child);
}

function create(name: string, attributes: Readonly<Record<string, string | number>>, text = ''): Element {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}

/** Words in lines of at most `most` characters. */
export function wrapped(text: string, most: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && line.length + word.length >= most) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

const sizeOf = (svg: Element): readonly [number, number] => [
  Number(svg.getAttribute('width')),
  Number(svg.getAttribute('height')),
];

/**
 * One SVG of its own: title and note, then the drawings row by row, in the colours that the page has now.
 * @param drawings with `width` and `height` in px
 * @param columns drawings in a row
 */
export function composeSvg(title: string, note: string, drawings: readonly Drawing[], columns: number): string {
  const sizes = drawings.map(({ svg }) => sizeOf(svg));
  const width = Math.max(...sizes.map(([w]) => w));
  // A row is as high as its tallest drawing.
  const heights = Array.from({ length: Math.ceil(drawings.length / columns) }, (_, row) => {
    const inRow = sizes.slice(row * columns, (row + 1) * columns).map(([, h]) => h);
    return Math.max(...inRow) + TITLE + GAP;
  });
  const above = (row: number) => heights.slice(0, row).reduce((sum, height) => sum + height, 0);
  const across = Math.min(columns, drawings.length);
  const fullWidth = across * (width + GAP) + GAP;
  const lines = wrapped(note, (fullWidth - 2 * GAP) / NOTE_CHARACTER);
  const head = GAP + TITLE + lines.length * NOTE_LINE + GAP / 2;
  const total = [fullWidth, head + above(heights.length) + GAP] as const;
  const figure = create('svg', {
    xmlns: NS,
    width: total[0],
    height: total[1],
    viewBox: `0 0 ${total[0]} ${total[1]}`,
    'font-family': 'var(--font-ui)',
    fill: 'var(--ink)',
  });
  figure.append(
    create('rect', { width: '100%', height: '100%', fill: 'var(--paper)' }),
    create('text', { x: GAP, y: GAP + 12, 'font-size': 15, 'font-weight': 600 }, title),
    ...lines.map((line, i) =>
      create('text', { x: GAP, y: GAP + 32 + i * NOTE_LINE, 'font-size': 11, fill: 'var(--ink-2)' }, line),
    ),
  );
  for (const [i, drawing] of drawings.entries()) {
    const x = GAP + (i % columns) * (width + GAP);
    const y = head + above(Math.floor(i / columns));
    const copy = drawing.svg.cloneNode(true) as Element;
    copy.setAttribute('x', String(x));
    copy.setAttribute('y', String(y + TITLE));
    copy.removeAttribute('aria-hidden');
    figure.append(create('text', { x, y: y + 14, 'font-size': 12, 'font-weight': 600 }, drawing.title), copy);
  }
  resolveAll(figure);
  return new XMLSerializer().serializeToString(figure);
}

/** The SVG as a picture of twice its size. @throws LabError export.png when the browser cannot draw it */
export async function pngOf(svg: string): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = PNG_SCALE * image.naturalWidth;
    canvas.height = PNG_SCALE * image.naturalHeight;
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
    if (blob) return blob;
  } catch {
    // Said below, as is a canvas that gives nothing.
  } finally {
    URL.revokeObjectURL(url);
  }
  throw new LabError({
    code: 'export.png',
    what: 'The browser could not turn the figure into a PNG file',
    fix: 'Save it as SVG; any drawing program reads that.',
  });
}
