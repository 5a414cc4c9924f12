/** The claims of an experiment: what the paper says, the paired difference here, and what follows. */
import { css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { type Finding, kindOf, kindTitles, verdictDetail, verdictText } from '../../core/experiment/verdict-words';
import type { ClaimResult } from '../../core/experiment/verdicts';
import { definitionStyles, definitionTip } from '../definition';
import { count } from '../format';
import { LabElement } from '../lab-element';
import { baseStyles } from '../styles';
import type { Comparison } from './comparison';
import { difference, isShare, mark, pValue, unitOf } from './difference';
import { exportButtons } from './export-buttons';
import { figureStyles } from './figure-styles';
import { intervalPlot, roundExtent } from './interval-plot';

const findings: Readonly<Record<Finding, { readonly icon: string; readonly means: string }>> = {
  larger: { icon: 'check', means: 'the 95 % interval excludes 0, in the direction of the claim' },
  smaller: { icon: 'xmark', means: 'the 95 % interval excludes 0, in the opposite direction' },
  equivalent: { icon: 'equal', means: 'the 90 % interval lies within the grey band' },
  unresolved: { icon: 'question', means: 'neither: more seeds, or a larger difference, would be needed' },
};

const help = `A claim of the paper is reproduced or not, a question of ours is answered yes or no. Reproduced, yes: ${findings.larger.means}.
The opposite: ${findings.smaller.means}. No difference: ${findings.equivalent.means}. Undecided: ${findings.unresolved.means}.`;

/** How often each verdict was reached, for the claims of one kind; empty where there are none. */
function tally(claims: readonly ClaimResult[], kind: 'paper' | 'question'): string {
  const counts = new Map<string, number>();
  const own = claims.filter(({ claim }) => kindOf(claim) === kind);
  for (const { verdict } of own) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  if (own.length === 0) return '';
  const what = kind === 'paper' ? 'the paper’s claims' : 'our questions';
  return `${count(own.length, 'comparison')} on ${what}: ${[...counts].map(([word, n]) => `${n} ${word}`).join(', ')}.`;
}

@customElement('lab-claim-list')
export class LabClaimList extends LabElement {
  @property({ attribute: false }) comparison!: Comparison;

  static override styles = [
    baseStyles,
    definitionStyles,
    figureStyles,
    css`
      :host { container-type: inline-size; }
      h3 { margin-bottom: 0.3rem; }
      ul { list-style: none; margin: 0; padding: 0; }
      .claim { border-top: 1px solid var(--line); padding: 0.9rem 0; }
      h4 { font: 600 0.925rem/1.45 var(--font-ui); margin: 0; max-width: var(--column); }
      .paper { font-size: 0.82rem; color: var(--ink-3); margin: 0.1rem 0 0; }
      .setup { display: grid; grid-template-columns: minmax(8rem, 13rem) 300px minmax(12rem, 1fr) 9.5rem; gap: 0.2rem 1.2rem; align-items: center; margin-top: 0.6rem; font-size: 0.82rem; }
      .setup svg { display: block; max-width: 100%; height: auto; }
      .numbers { color: var(--ink-2); font-variant-numeric: tabular-nums; }
      .numbers b { color: var(--ink); font-weight: 600; }
      .verdict { font-weight: 600; display: inline-flex; align-items: center; gap: 0.4rem; }
      .verdict small { font-weight: 400; color: var(--ink-2); }
      .note { margin: 0.2rem 0 0.8rem; }
      @container (max-width: 52rem) { .setup { grid-template-columns: 300px 1fr; } .name { grid-column: 1 / -1; font-weight: 500; } .numbers { grid-column: 1 / -1; } }
      @container (max-width: 27rem) { .setup { grid-template-columns: minmax(0, 1fr); } }
    `,
  ];

  protected override render() {
    const { experiment, claims, margin, signFlipNote } = this.comparison;
    if (claims.length === 0) return nothing;
    return html`
      <h3>What reproduces ${definitionTip('Verdict', help)}</h3>
      <p class="note">${tally(claims, 'paper')} ${tally(claims, 'question')}</p>
      <ul>
        ${experiment.claims.map((claim) => {
          const decided = claims.filter((other) => other.claim.id === claim.id);
          return html`<li class="claim">
            <h4>${claim.text}</h4>
            <p class="paper">${kindTitles[kindOf(claim)]}.${claim.paper ? ` In the paper: ${claim.paper}` : ''}</p>
            ${decided.map((one) => this.setup(one))}
          </li>`;
        })}
      </ul>
      <p class="note">
        Differences between arms with the same seed, which share the base, the held-out set and, group-normalised arms
        (several rollouts of one task) aside, the training tasks. Dots: one seed each.
        Bar: 95 % interval of the mean difference (${this.comparison.intervalNote()}). Grey band: ±${100 * margin} points, what
        counts as no difference. p: sign-flip test (${signFlipNote}), Holm-adjusted over the claims of the setup; of n pairs
        p is at least 2 / 2ⁿ, so that three seeds cannot go below 0.25, and the verdict is the interval’s alone.
        Correlation: of the two arms over seeds, what the pairing gains.
      </p>
      ${exportButtons(`${experiment.id}-claims`, () => this.figure())}
    `;
  }

  private setupTitle(setupId: string): string {
    return this.comparison.setups.find(({ id }) => id === setupId)?.title ?? setupId;
  }

  private setup(decided: ClaimResult) {
    const { claim, setup, values, mean, interval, adjustedP, correlation, verdict } = decided;
    const unit = unitOf(decided);
    const { icon, means } = findings[decided.finding];
    const detail = verdictDetail(decided);
    return html`<div class="setup" data-claim=${claim.id} data-setup=${setup}>
      <span class="name">${this.setupTitle(setup)}</span>
      ${values.length > 0 ? this.plot(decided) : html`<span></span>`}
      <span class="numbers">
        ${
          values.length === 0
            ? 'No seed has both arms yet.'
            : html`<b>${difference(decided, mean ?? 0)} ${unit}</b>
              ${interval ? html`[${difference(decided, interval.low)}, ${difference(decided, interval.high)}]` : nothing}<br />
              Holm p ${pValue(adjustedP)}, correlation ${correlation === null ? '–' : correlation.toFixed(2).replace('-', '−')}, ${count(values.length, 'seed')}`
        }
      </span>
      <span class="verdict" title=${means}><wa-icon name=${icon}></wa-icon><span>${verdict}${detail ? html` <small>${detail}</small>` : nothing}</span></span>
    </div>`;
  }

  private plot(decided: ClaimResult) {
    const { claim, values, mean, interval, setup } = decided;
    const alike = this.comparison.claims.filter((other) =>
      isShare(decided) ? isShare(other) : other.claim.left.outcome === claim.left.outcome,
    );
    const all = alike.flatMap((one) => [
      ...one.values.map(({ value }) => value),
      ...(one.interval ? [one.interval.low, one.interval.high] : []),
    ]);
    const range = interval
      ? `, 95 % interval ${difference(decided, interval.low)} to ${difference(decided, interval.high)}`
      : '';
    return intervalPlot({
      differences: values.map(({ value }) => value),
      mean: mean ?? 0,
      low: interval?.low ?? null,
      high: interval?.high ?? null,
      equivalence: isShare(decided) ? this.comparison.margin : null,
      extent: roundExtent(all, isShare(decided) ? 0.05 : 1e-3),
      text: (value) => mark(decided, value),
      words: `${this.setupTitle(setup)}: difference ${difference(decided, mean ?? 0)}${range}, ${verdictText(decided)}`,
    });
  }

  private async figure() {
    const shown = [...this.renderRoot.querySelectorAll<HTMLElement>('.setup')];
    const { claims, margin } = this.comparison;
    const drawings = shown.flatMap((row) => {
      const svg = row.querySelector('svg');
      const decided = claims.find(({ claim, setup }) => claim.id === row.dataset.claim && setup === row.dataset.setup);
      return svg && decided ? [{ title: `${decided.claim.id}, ${decided.setup}: ${verdictText(decided)}`, svg }] : [];
    });
    const note = `Paired differences by seed (dots), mean and its 95 % interval (${this.comparison.intervalNote()}); band ±${100 * margin} points.`;
    return { title: this.comparison.experiment.title, note, drawings, columns: 2 };
  }
}
