/** The Markdown lexer with a bound on nesting: a link may hold a line of thousands of `> `, and the lexer calls itself for each. */
import { Lexer, type MarkedOptions, type Token, type TokensList } from 'marked';
import { LabError } from '../core/errors';
import { limits } from '../notebook/limits';

const EXCERPT_CHARS = 40;

/** @throws LabError prose.too-deep */
export class BoundedLexer extends Lexer {
  private depth = 0;

  private within<T>(source: string, work: () => T): T {
    // The document itself is the first level.
    if (this.depth > limits.proseDepth) throw tooDeep(source);
    this.depth++;
    try {
      return work();
    } finally {
      this.depth--;
    }
  }

  override blockTokens(src: string, tokens?: Token[], lastParagraphClipped?: boolean): Token[];
  override blockTokens(src: string, tokens?: TokensList, lastParagraphClipped?: boolean): TokensList;
  override blockTokens(src: string, tokens?: Token[], lastParagraphClipped?: boolean): Token[] {
    return this.within(src, () => super.blockTokens(src, tokens, lastParagraphClipped));
  }
  override inlineTokens(src: string, tokens?: Token[]): Token[] {
    return this.within(src, () => super.inlineTokens(src, tokens));
  }
}

/** @throws LabError prose.too-deep */
export function boundedLex(markdown: string, options: MarkedOptions): TokensList {
  return new BoundedLexer(options).lex(markdown);
}

function tooDeep(source: string): LabError {
  const excerpt = source.slice(0, EXCERPT_CHARS);
  return new LabError({
    code: 'prose.too-deep',
    what: 'This text nests too deeply to be drawn',
    where: `before ${JSON.stringify(excerpt)}${source.length > EXCERPT_CHARS ? ' …' : ''}`,
    expected: `at most ${limits.proseDepth} quotes, lists or emphases inside each other`,
    got: 'more',
    fix: 'Edit the text: put fewer > or - at the beginning of the line. Its source is below.',
  });
}
