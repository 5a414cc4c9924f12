/** The notebook of results: the paper's comparison at small scale, with every number, to be run again. */
import { DOCUMENT_VERSION, type NotebookDocument } from './document';

const intro = `Which parts of [CompactionRL](https://arxiv.org/abs/2607.05378) matter, and how sure can one be? The paper has one run an
arm and no error bars. Below is the same comparison with tiny models on made-up tasks, but with many seeds: **each number has
its interval, each claim of the paper its verdict, and every arm can be run again on your own machine.**

*single*, *comp* and *long* are three ways to evaluate the same final policy: inside one window without compaction, with
compaction, and in a window twice as large without compaction.`;

const reading = `## How to read it

A difference between two arms is taken **seed by seed**: both began from the same base and are evaluated on the same
tasks (most arms also train on the same), so luck that they share cancels out. The bar is the 95 % interval of the mean difference. *Reproduced* means that it excludes zero in the
paper's direction, *contradicted* the opposite, *equivalent* that the difference is smaller than two points either way, and
*unresolved* that these seeds cannot tell. An absent difference is a result as well; so is a claim that stays open.

What holds for a model of this size need not hold for a large one. Change the setup, the arm, the seed, and see for yourself.`;

export const resultsDocument: NotebookDocument = {
  version: DOCUMENT_VERSION,
  title: 'What reproduces',
  cells: [
    { kind: 'prose', markdown: intro },
    { kind: 'comparison', results: 'paper-table' },
    { kind: 'prose', markdown: reading },
  ],
};
