// Writes the measurements of the fault tests into docs/failure.md; of several, the longest.
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { cellsOf, rewritePart } from './marked-part.mjs';

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'failure.md');
/** Named in the page; `npm test -- --record` adds the measurements of the short suites. */
const COMMAND = 'npm run test:faults -- --record';

/**
 * `file` has one line of JSON per figure: {row, what, milliseconds} or {row, what, value}. Other figures of the page
 * stay.
 */
export async function writeFigures(file) {
  const measured = new Map();
  for (const line of (await readFile(file, 'utf8')).split('\n').filter((text) => text !== '')) {
    const figure = JSON.parse(line);
    const name = `${figure.row}|${figure.what}`;
    if (!(measured.get(name)?.milliseconds > figure.milliseconds)) measured.set(name, figure);
  }
  await rewritePart(PAGE, COMMAND, (before) => {
    const rows = new Map(cellsOf(before).map((cells) => [`${cells[0]}|${cells[1]}`, cells]));
    for (const [name, { row, what, milliseconds, value }] of measured) {
      rows.set(name, [row, what, value ?? `${(milliseconds / 1_000).toFixed(2)} s`]);
    }
    const sorted = [...rows.values()].sort(([a], [b]) => a.localeCompare(b));
    return [
      `Measured on ${cpus().length} cores, shared with other work.`,
      '',
      '| when | what | measured |',
      '|---|---|--:|',
      ...sorted.map((cells) => `| ${cells.join(' | ')} |`),
    ].join('\n');
  });
}
