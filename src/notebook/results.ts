/** The notebook of results: the paper's comparison at small scale, with every number, to be run again. */
import { DOCUMENT_VERSION, type NotebookDocument } from './document';

const intro = `Which parts of [CompactionRL](https://arxiv.org/abs/2607.05378) matter, and how sure can one be? The paper has one run an
arm and no error bars. Below is the same comparison with tiny models on made-up tasks, but with many seeds: **each number has
its interval, each claim of the paper its verdict, and every arm can be run again on your own machine.**

*single*, *comp* and *long* are three ways to evaluate the same final policy: inside one window without compaction, with
compaction, and in a window twice as large without compaction.`;

const reading = `## How to read it

A difference between two arms is taken **seed by seed**: both began from the same base and are evaluated on the same
tasks (most arms also train on the same), so luck that they share cancels out. The bar is the 95 % interval of the mean difference. **A claim of the paper** is *reproduced* where the interval excludes
zero in its direction, *not reproduced* where it excludes zero the other way (*the opposite*) or the difference is smaller than two points either way
(*no difference*), and *undecided* where these seeds cannot tell. **A question of ours**, on which the paper says nothing, is answered *yes*, *no* or *undecided* by the same rule. An absent difference is a result as well; so is a claim that stays open.

What holds for a model of this size need not hold for a large one. Change the setup, the arm, the seed, and see for yourself.`;

const lambda = String.raw`## Where the cross-trajectory factor matters

In the table above the factor of Eq. 14 makes no difference to the small policy (what stands against it for the larger one
on code, by three seeds, six more did not confirm). That may be because $\lambda = 0.98$ hardly
scales anything down over episodes as short as these: $(\gamma\lambda)^{N_{>s}}$ is about one half for the first segment, by a rough count. So the
same comparison again, with smaller and smaller $\lambda$.

The arms do part, and **against** the factor: little is lost with it at 0.95, most at 0.8. A likely reason stands in the formula.
Whatever an early summary earned is scaled by $(\gamma\lambda)^{N_{>s}}$, soon next to nothing, while without the factor every
segment is paid in full however early it comes. The stitched GAE loses sooner still: it has one reward, at the very end, of which as
little arrives early, and the critic's errors from step to step, which do not fade, are added to it. Where early summaries
decide an episode, as here, credit that fades with distance is credit withheld.

The length-adaptive $\lambda = 1 - 1/(1.5\,l)$, with $l$ the tokens of the rollout, keeps out of this range: its factor never
falls much below $e^{-2/3} \approx 0.5$. By this reasoning the factor would do little there; that was not run.`;

const beyond = `## What else one could do

Each against the same reference. Look for four things:

- **The gain is in the writer.** Let the untrained base act on summaries of the trained policy (*Base acts, CompactionRL writes*):
  most of the gain is there. The other way round, nearly nothing.
- **The ceiling** is a perfect summary, which lists the facts still needed. The trained policy gets most of the way.
- **Retrying is no substitute here.** Up to three attempts in one window each, with or without a note in between, solve less than one
  attempt with compaction.
- **Harder than in training.** With a smaller window, and so more compactions, every policy falls far; the trained one keeps a lead.`;

export const resultsDocument: NotebookDocument = {
  version: DOCUMENT_VERSION,
  title: 'What reproduces',
  cells: [
    { kind: 'prose', markdown: intro },
    { kind: 'comparison', results: 'paper-table' },
    { kind: 'prose', markdown: reading },
    { kind: 'prose', markdown: lambda },
    { kind: 'comparison', results: 'credit-and-lambda' },
    { kind: 'prose', markdown: beyond },
    { kind: 'comparison', results: 'beyond-the-table' },
  ],
};
