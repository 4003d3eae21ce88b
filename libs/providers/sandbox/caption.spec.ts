import fc from 'fast-check';
import { caption, wrap } from './caption.js';
import { escapeXml } from './drawing/svg.js';

test('breaks at spaces and marks what was left out', () => {
  expect(wrap('the quick brown fox jumps', 9, 3)).toEqual(['the quick', 'brown fox', 'jumps']);
  expect(wrap('the quick brown fox jumps over it all', 9, 2)).toEqual([
    'the quick',
    expect.stringMatching(/^brown.*…$/u),
  ]);
});

test('breaks words that no line can hold, and scripts without spaces', () => {
  const lines = wrap('x'.repeat(50), 10, 5);
  expect(lines.join('')).toBe('x'.repeat(50));
  expect(wrap('一只可爱的猫坐在窗边', 6, 9).join('')).toBe('一只可爱的猫坐在窗边');
});

test('never more lines than asked for, and no text lost before an ellipsis', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.integer({ min: 3, max: 40 }),
      fc.integer({ min: 1, max: 4 }),
      (text, width, maxLines) => {
        const lines = wrap(text, width, maxLines);
        expect(lines.length).toBeLessThanOrEqual(maxLines);
        const bare = (some: string): string => some.replace(/[\s\p{Cc}]/gu, '');
        const shown = bare(lines.join(''));
        expect(bare(text).startsWith(shown.replace(/…$/u, ''))).toBe(true);
      },
    ),
  );
});

test('text cannot become markup', () => {
  expect(escapeXml('<b>&"\'\u0000\uD800\uFFFE')).toBe('&#60;b&#62;&#38;&#34;&#39;');
  expect(caption('</text><script>', { width: 1024, height: 1024, unit: 1 })).not.toContain('<script>');
});
