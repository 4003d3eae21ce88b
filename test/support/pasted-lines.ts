import { readFileSync } from 'node:fs';

/**
 * The first fenced block, in a language, below a heading of a docs page, so that tests run exactly what operators
 * paste.
 */
export function pastedLines(page: string, heading: string, language = '\\w*'): string {
  const text = readFileSync(page, 'utf8');
  const start = text.indexOf(`\n${heading}\n`);
  const block = start < 0 ? null : new RegExp(`\n\`\`\`${language}\n(.*?)\n\`\`\``, 's').exec(text.slice(start));
  if (block === null) throw new Error(`${page} has no lines to paste below "${heading}"`);
  return block[1] ?? '';
}
