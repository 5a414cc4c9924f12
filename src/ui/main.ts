/** Entry of the page: puts the real services together and defines the application element. */
import '@awesome.me/webawesome/dist/styles/themes/default.css';
import './theme.css';
import './theme';
import './components';
import { presets } from '../run/presets/presets';
import { createTrainerClient } from '../run/worker/client';
import { fetchResults } from './comparison/results-file';
import { fetchEpisodes } from './episode/load';
import type { LabApp } from './lab-app';
import './lab-app';
import { reloadOnce } from './share';
import { openNotebookShelf } from './shelf';
import { homeDocument, shippedNotebooks } from './shipped-notebooks';

const app = document.querySelector<LabApp>('lab-app');
if (app)
  app.services = {
    presets,
    home: homeDocument,
    shipped: shippedNotebooks,
    createTrainer: createTrainerClient,
    fetchResults,
    fetchEpisodes,
    openShelf: openNotebookShelf,
  };

// A newer version was put on the server while this page was open, and a part of this one is gone.
addEventListener('vite:preloadError', (event) => {
  const reason = String((event as Event & { payload?: Error }).payload?.message ?? 'preload');
  // Not prevented: what asked for the part has to learn that it is not there.
  if (!reloadOnce(reason))
    app?.report({
      code: 'page.part-missing',
      what: 'A part of this page could not be loaded, also after reloading it',
      got: reason.slice(0, 200),
      fix: 'Check the connection and reload. Runs continue from their last saved iteration.',
    });
});
