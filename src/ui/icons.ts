/** Icons, drawn here as strokes on a 24-unit grid, so that nothing is fetched. */
import { registerIconLibrary } from '@awesome.me/webawesome/dist/components/icon/library.js';
import { html } from 'lit';
import { unsafeSVG } from 'lit/directives/unsafe-svg.js';

const strokes = {
  play: '<path d="M7 4.5v15l12-7.5z" fill="currentColor"/>',
  pause: '<path d="M8 5v14M16 5v14" stroke-width="3"/>',
  stop: '<rect x="6" y="6" width="12" height="12" rx="1" fill="currentColor"/>',
  step: '<path d="M6 5v14l9-7z" fill="currentColor"/><path d="M18 5v14" stroke-width="2.5"/>',
  share: '<path d="M12 3v12M8 7l4-4 4 4M5 12v8h14v-8"/>',
  folder: '<path d="M3 6h6l2 2h10v11H3z"/>',
  plus: '<path d="M12 5v14M5 12h14"/>',
  minus: '<path d="M5 12h14"/>',
  up: '<path d="M12 19V5M6 11l6-6 6 6"/>',
  down: '<path d="M12 5v14M6 13l6 6 6-6"/>',
  pencil: '<path d="M4 20l1-4L16 5l3 3L8 19z"/>',
  trash: '<path d="M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13"/>',
  download: '<path d="M12 4v12M7 11l5 5 5-5M5 20h14"/>',
  copy: '<rect x="8" y="8" width="12" height="12" rx="1.5"/><path d="M16 8V4H4v12h4"/>',
  check: '<path d="M5 13l4 4 10-11"/>',
  xmark: '<path d="M6 6l12 12M18 6L6 18"/>',
  undo: '<path d="M9 7H4V2M4.5 7A8.5 8.5 0 1 1 4 14"/>',
  equal: '<path d="M5 9h14M5 15h14" stroke-width="2.4"/>',
  question: '<circle cx="12" cy="12" r="9"/><path d="M9.3 9.3a2.8 2.8 0 1 1 4 2.8c-.9.5-1.3 1-1.3 1.9M12 16.8v.2"/>',
  info: '<circle cx="12" cy="12" r="9"/><path d="M12 11v5M12 7.6v.2" stroke-width="2.2"/>',
  alert: '<path d="M12 3.5l9.5 16.5h-19z"/><path d="M12 10v4.5M12 17.2v.2" stroke-width="2.2"/>',
  table: '<path d="M4 5h16v14H4zM4 10h16M4 14.5h16M10 5v14"/>',
  chart: '<path d="M4 4v16h16"/><path d="M7 15l4-5 3 3 5-7"/>',
  sun: '<circle cx="12" cy="12" r="4"/><path d="M12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2"/>',
  moon: '<path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z"/>',
  auto: '<circle cx="12" cy="12" r="8.5"/><path d="M12 3.5a8.5 8.5 0 0 1 0 17z" fill="currentColor"/>',
  dice: '<rect x="4" y="4" width="16" height="16" rx="3"/><path d="M8.5 8.5v.1M15.5 15.5v.1M12 12v.1" stroke-width="2.6"/>',
  'chevron-down': '<path d="M5 9l7 7 7-7"/>',
  'chevron-right': '<path d="M9 5l7 7-7 7"/>',
  'chevron-left': '<path d="M15 5l-7 7 7 7"/>',
  'circle-xmark': '<circle cx="12" cy="12" r="9"/><path d="M9 9l6 6M15 9l-6 6"/>',
} as const;

export type IconName = keyof typeof strokes;

/** An icon without an element of its own, for places with very many of them. Decorative: the button around it has the name. */
export const icon = (name: IconName) =>
  html`<svg
    viewBox="0 0 24 24"
    width="1em"
    height="1em"
    fill="none"
    stroke="currentColor"
    stroke-width="1.9"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >${unsafeSVG(strokes[name])}</svg>`;

const svg = (body: string): string =>
  `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.9" stroke-linecap="round" stroke-linejoin="round">${body}</svg>`,
  )}`;

const resolver = (name: string): string => (Object.hasOwn(strokes, name) ? svg(strokes[name as IconName]) : svg(''));

/** Points both the library's default icons and the ones its components use at the strokes above. */
export function registerIcons(): void {
  registerIconLibrary('default', { resolver });
  registerIconLibrary('system', { resolver });
}
