/** The page with a fake trainer, for looking at it: `npx vite`, then /test/browser/ui/harness.html. */
import '@awesome.me/webawesome/dist/styles/themes/default.css';
import '../../../src/ui/theme.css';
import '../../../src/ui/theme';
import '../../../src/ui/components';
import { parseConfig } from '../../../src/core/config/config';
import { homeDocument } from '../../../src/notebook/home';
import { presets } from '../../../src/run/presets/presets';
import type { LabApp } from '../../../src/ui/lab-app';
import '../../../src/ui/lab-app';
import { openNotebookShelf } from '../../../src/ui/shelf';
import { fakeResults } from './fake-results';
import { FakeTrainer } from './fake-trainer';
import { fakeEpisodes } from './mount';

const query = new URLSearchParams(location.search);
const number = (name: string) => (query.has(name) ? Number(query.get(name)) : undefined);
const trainer = new FakeTrainer({
  iterationMs: number('iteration') ?? 400,
  failAt: number('fail') ?? -1,
  alarmAt: number('alarm') ?? -1,
  available: query.get('gpu') !== 'none',
});
if (query.has('stored')) trainer.seed('stored-1', 'quick', parseConfig(presets.quick.config), 23, 'running');
const sample = homeDocument.cells.concat({ kind: 'comparison', results: 'paper-table', folded: false });
const fetchResults = async (name: string) => JSON.stringify(name === 'runs' ? { version: 1, runs: [] } : fakeResults);
const app = document.querySelector<LabApp>('lab-app') as LabApp;
app.services = {
  presets,
  home: query.has('episode')
    ? { ...homeDocument, cells: [{ kind: 'episode', recording: '' }, ...homeDocument.cells] }
    : query.has('comparison')
      ? { ...homeDocument, cells: sample.slice(-1) }
      : homeDocument,
  shipped: [],
  createTrainer: () => trainer,
  fetchResults,
  fetchEpisodes: fakeEpisodes,
  openShelf: openNotebookShelf,
};
