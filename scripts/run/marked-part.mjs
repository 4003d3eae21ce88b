import { readFile, writeFile } from 'node:fs/promises';
import { requireTool } from '../build/prepare.mjs';

const END = '<!-- end of figures -->';

/**
 * Rewrites the part of a Markdown page between `<!-- figures: written by COMMAND -->` and the next `<!-- end of figures
 * -->`. `write` gets the current part and returns the new one.
 */
export async function rewritePart(page, command, write) {
  const { format, resolveConfig } = requireTool('prettier');
  const text = await readFile(page, 'utf8');
  const start = `<!-- figures: written by ${command} -->`;
  const [head, rest] = split(text, start);
  const [before, tail] = split(rest ?? '', END);
  if (tail === undefined) throw new Error(`${page} lacks ${start} and ${END} after it`);
  const next = `${head}${start}\n\n${write(before)}\n\n${END}${tail}`;
  await writeFile(page, await format(next, { ...(await resolveConfig(page)), filepath: page }));
}

/** The cells of all table rows in a part, without headers. */
export function cellsOf(part) {
  const rows = part.split('\n').filter((line) => line.startsWith('|'));
  return rows
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
    .filter((cells, index, all) => !isRule(cells) && !isRule(all[index + 1] ?? []));
}

function isRule(cells) {
  return cells.length > 0 && cells.every((cell) => /^:?-+:?$/.test(cell));
}

function split(text, marker) {
  const at = text.indexOf(marker);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + marker.length)];
}
