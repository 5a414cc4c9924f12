/** Draws the plots of docs/performance.md from the measurements beside them, with Observable Plot inside Chromium. */
import { readFile, writeFile } from 'node:fs/promises';
import type * as PlotLibrary from '@observablehq/plot';
import type { Page } from 'playwright-core';
import * as v from 'valibot';
import type { Bench } from '../bench';
import { withChromium } from '../chromium';

const FOLDER = 'docs/performance';

const spread = v.object({ median: v.number(), min: v.number(), max: v.number() });
const decodeFile = v.object({
  results: v.array(
    v.object({
      model: v.string(),
      environments: v.number(),
      path: v.string(),
      costs: v.array(v.object({ context: v.number(), flopsPerToken: v.number(), tokensPerSecond: spread })),
    }),
  ),
});
const iterationFile = v.object({
  costs: v.array(v.object({ episodes: v.number(), ms: spread, deviceBytes: v.number() })),
});

async function load<S extends v.GenericSchema>(name: string, schema: S): Promise<v.InferOutput<S>> {
  return v.parse(schema, JSON.parse(await readFile(`${FOLDER}/${name}.json`, 'utf8')));
}

interface Point {
  readonly x: number;
  readonly y: number;
  readonly low: number;
  readonly high: number;
  readonly series: string;
}

interface Drawing {
  readonly file: string;
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly points: readonly Point[];
  /** What the points are compared with. */
  readonly reference: readonly { readonly x: number; readonly y: number; readonly series: string }[];
}

/** Cost of a sampled token, relative to the shortest context; dashed: FLOPs of a token, times 1.2. */
function decodeDrawings({ results }: v.InferOutput<typeof decodeFile>): Drawing[] {
  return [...new Set(results.map((r) => r.model))].map((model) => {
    const of = results.filter((r) => r.model === model);
    return {
      file: `decode-${model}`,
      title: `${model}: cost of a sampled token, relative to context ${of[0]!.costs[0]!.context}`,
      x: 'context, tokens',
      y: 'time of a token, relative',
      points: of.flatMap((r) => {
        const first = r.costs[0]!.tokensPerSecond.median;
        return r.costs.map(({ context, tokensPerSecond: t }) => ({
          x: context,
          y: first / t.median,
          low: first / t.max,
          high: first / t.min,
          series: `${r.path}, ${r.environments} environments`,
        }));
      }),
      reference: of[0]!.costs.map((c) => ({
        x: c.context,
        y: (1.2 * c.flopsPerToken) / of[0]!.costs[0]!.flopsPerToken,
        series: 'FLOPs × 1.2',
      })),
    };
  });
}

/** Time and memory of an iteration; dashed: 2.1 times as much per doubling. */
function iterationDrawings({ costs }: v.InferOutput<typeof iterationFile>): Drawing[] {
  const drawing = (
    file: string,
    y: string,
    of: (c: (typeof costs)[number]) => Omit<Point, 'x' | 'series'>,
  ): Drawing => ({
    file,
    title: `quick: ${y} by number of environments`,
    x: 'environments',
    y,
    points: costs.map((c) => ({ x: c.episodes, ...of(c), series: 'measured' })),
    reference: costs.map((c) => ({
      x: c.episodes,
      y: of(costs[0]!).y * 2.1 ** Math.log2(c.episodes / costs[0]!.episodes),
      series: '2.1 × per doubling',
    })),
  });
  return [
    drawing('iteration-time', 'ms of an iteration', ({ ms }) => ({ y: ms.median, low: ms.min, high: ms.max })),
    drawing('iteration-memory', 'MiB of device memory', ({ deviceBytes: b }) => {
      const y = b / 2 ** 20;
      return { y, low: y, high: y };
    }),
  ];
}

/** @returns the SVG text of a drawing */
function draw(page: Page, drawing: Drawing): Promise<string> {
  return page.evaluate(({ title, x, y, points, reference }) => {
    const { Plot } = globalThis as unknown as { Plot: typeof PlotLibrary };
    const figure = Plot.plot({
      width: 700,
      height: 340,
      marginLeft: 56,
      marginRight: 190,
      style: { background: 'white', color: '#222', fontFamily: 'system-ui, sans-serif', fontSize: '12px' },
      x: { type: 'log', base: 2, label: x, ticks: [...new Set(points.map((p) => p.x))], tickFormat: String, inset: 12 },
      y: { label: y, grid: true, zero: true },
      color: { scheme: 'Observable10' },
      marks: [
        Plot.line(reference, { x: 'x', y: 'y', stroke: '#777', strokeDasharray: '4 3' }),
        Plot.text(reference.slice(0, 1), {
          x: 'x',
          y: 'y',
          text: 'series',
          textAnchor: 'start',
          dx: 6,
          dy: -14,
          fill: '#555',
        }),
        Plot.ruleX(points, { x: 'x', y1: 'low', y2: 'high', stroke: 'series' }),
        Plot.line(points, { x: 'x', y: 'y', stroke: 'series' }),
        Plot.dot(points, { x: 'x', y: 'y', fill: 'series', symbol: 'series', r: 3.5 }),
        Plot.text(
          points,
          Plot.selectLast({ x: 'x', y: 'y', z: 'series', text: 'series', fill: 'series', textAnchor: 'start', dx: 8 }),
        ),
      ],
    });
    figure.setAttribute('role', 'img');
    figure.setAttribute('aria-label', title);
    return new XMLSerializer().serializeToString(figure);
  }, drawing);
}

const plots: Bench = {
  name: 'plots',
  summary: `draws the plots of ${FOLDER}.md from ${FOLDER}/decode.json and iteration.json`,
  async run(run) {
    const drawings = [
      ...decodeDrawings(await load('decode', decodeFile)),
      ...iterationDrawings(await load('iteration', iterationFile)),
    ];
    await withChromium(async (browser) => {
      const page = await browser.newPage();
      await page.addScriptTag({ path: 'node_modules/d3/dist/d3.min.js' });
      await page.addScriptTag({ path: 'node_modules/@observablehq/plot/dist/plot.umd.min.js' });
      for (const drawing of drawings) {
        await writeFile(`${FOLDER}/${drawing.file}.svg`, `${await draw(page, drawing)}\n`);
        run.note(`${FOLDER}/${drawing.file}.svg`);
      }
    });
    const files = drawings.map(({ file }) => `${FOLDER}/${file}.svg`);
    return { values: { files }, table: [['file'], ...files.map((file) => [file])] };
  },
};
export default plots;
