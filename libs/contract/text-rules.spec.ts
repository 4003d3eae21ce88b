import { INVISIBLE, VISIBLE_NAME } from './text-rules.js';

describe('VISIBLE_NAME', () => {
  it.each([
    ['a family of emoji', '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'],
    ['Persian', '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645'],
    ['Hindi', '\u0915\u094d\u200d\u0937'],
    ['100 characters', 'a'.repeat(100)],
  ])('takes %s', (_what, name) => {
    expect(VISIBLE_NAME.test(name)).toBe(true);
    expect(name.replace(INVISIBLE, '')).toBe(name);
  });

  it.each([
    ['nothing to be seen', '\u200d\u200c '],
    ['a change of direction', 'a\u202eb'],
    ['NUL', 'a\u0000'],
    ['a line break', 'a\nb'],
    ['101 characters', 'a'.repeat(101)],
  ])('refuses %s', (_what, name) => {
    expect(VISIBLE_NAME.test(name)).toBe(false);
  });
});
