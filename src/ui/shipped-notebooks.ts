/** The notebooks that the page comes with. The build reads this list, too: it draws their formulas. */
import { homeDocument } from '../notebook/home';
import { resultsDocument } from '../notebook/results';
import type { ShippedNotebook } from './services';

export { homeDocument };

export const shippedNotebooks: readonly ShippedNotebook[] = [
  {
    name: 'what-reproduces',
    document: resultsDocument,
    about: 'the paper’s comparison at small scale, to look at and to run again',
  },
];
