/** Mounts the page with a fake trainer and a shelf in memory; helpers that look through shadow roots. */
import '@awesome.me/webawesome/dist/styles/themes/default.css';
import '../../../src/ui/theme.css';
import '../../../src/ui/theme';
import '../../../src/ui/components';
import type { NotebookDocument } from '../../../src/notebook/document';
import { resultsDocument } from '../../../src/notebook/results';
import { presets } from '../../../src/run/presets/presets';
import type { LabApp } from '../../../src/ui/lab-app';
import '../../../src/ui/lab-app';
import type { LabServices, NotebookShelf, SavedNotebook } from '../../../src/ui/services';
import sampleEpisode from '../../fixtures/episodes/sample.json';
import { fakeResults } from './fake-results';
import { type FakeOptions, FakeTrainer } from './fake-trainer';

export const home: NotebookDocument = {
  version: 1,
  title: 'Home',
  cells: [
    { kind: 'prose', markdown: 'Some *text* with $\\gamma\\lambda$.' },
    { kind: 'experiment', preset: 'quick', seed: 1, config: {} },
  ],
};

/** The site's only results are the sample, as "paper-table"; it has no recorded run. */
export const fakeFetch = async (name: string): Promise<string> =>
  name === 'paper-table'
    ? JSON.stringify(fakeResults)
    : name === 'runs'
      ? JSON.stringify({ version: 1, runs: [] })
      : 'nothing';

/** Three tasks, all of them the sample written by hand. */
export const fakeEpisodes = async (file: string): Promise<string> =>
  JSON.stringify(
    file === 'index.json'
      ? ['one', 'two', 'three'].map((name) => ({ name, title: `Task ${name}`, file: `${name}.json` }))
      : { ...sampleEpisode, title: file },
  );

export function memoryShelf(): NotebookShelf & { readonly saved: Map<string, NotebookDocument> } {
  const saved = new Map<string, NotebookDocument>();
  return {
    saved,
    persistent: true,
    list: async () =>
      [...saved].reverse().map(([id, d]): SavedNotebook => ({ id, title: d.title, updatedAt: '2026-11-29T16:20:00Z' })),
    load: async (id) => saved.get(id) ?? null,
    save: async (id, document) => {
      saved.set(id, document);
    },
    delete: async (id) => {
      saved.delete(id);
    },
  };
}

export interface Mounted {
  readonly app: LabApp;
  readonly trainer: FakeTrainer;
  readonly shelf: ReturnType<typeof memoryShelf>;
}

export async function mount(
  options: FakeOptions = {},
  prepare: (t: FakeTrainer) => void = () => {},
  services: Partial<LabServices> = {},
): Promise<Mounted> {
  document.body.replaceChildren();
  const trainer = new FakeTrainer(options);
  prepare(trainer);
  const shelf = memoryShelf();
  const app = document.createElement('lab-app');
  app.services = {
    presets,
    home,
    shipped: [{ name: 'what-reproduces', document: resultsDocument, about: 'results' }],
    createTrainer: () => trainer,
    fetchResults: fakeFetch,
    fetchEpisodes: fakeEpisodes,
    openShelf: async () => shelf,
    ...services,
  };
  document.body.append(app);
  await until(() => find('lab-experiment'));
  return { app, trainer, shelf };
}

/** All elements that match, in this tree and in the shadow roots below it. */
export function findAll(selector: string, root: ParentNode = document): HTMLElement[] {
  const found = [...root.querySelectorAll<HTMLElement>(selector)];
  for (const element of root.querySelectorAll('*'))
    if (element.shadowRoot) found.push(...findAll(selector, element.shadowRoot));
  return found;
}

export const find = (selector: string): HTMLElement | undefined => findAll(selector)[0];

/** Text of a part of the page, shadow roots included, as it is laid out. */
export function textOf(element: Element | undefined): string {
  if (!element) return '';
  const root = element.shadowRoot ?? element;
  return [...root.childNodes]
    .map((node) =>
      node instanceof HTMLStyleElement || node instanceof Comment
        ? ''
        : node instanceof Element
          ? textOf(node)
          : (node.textContent ?? ''),
    )
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Waits for a condition. @throws when it does not come true in time, 10 s unless told */
export async function until<T>(condition: () => T | undefined | null | false, limitMs = 10_000): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const value = condition();
    if (value) return value;
    if (performance.now() > end) throw new Error(`never true: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

export async function click(selector: string): Promise<void> {
  const button = await until(() =>
    findAll(selector).find((b) => !(b as HTMLButtonElement).disabled && b.dataset.waiting === undefined),
  );
  button.click();
}
