// Writes what the fault tests measured into docs/failure.md, between its markers; the longest of each where there are several.
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';

const PAGE = join(import.meta.dirname, '..', 'docs', 'failure.md');
const MARKERS = [
  '<!-- figures: written by npm test -- --selectProjects faults --record -->',
  '<!-- end of figures -->',
];

/** `file` holds a line of JSON per figure: {row, what, milliseconds}. Figures of tests that did not run stay. */
export async function writeFigures(file) {
  const page = await readFile(PAGE, 'utf8');
  const [head, rest] = page.split(MARKERS[0]);
  const [before, tail] = rest?.split(MARKERS[1]) ?? [];
  if (tail === undefined) throw new Error(`docs/failure.md lacks the markers ${MARKERS.join(' and ')}`);
  const figures = new Map(
    [...before.matchAll(/^\| (.+?) +\| (.+?) +\| +([\d.]+) s \|$/gm)].map(([, row, what, seconds]) => [
      `${row}|${what}`,
      { row, what, milliseconds: Number(seconds) * 1_000 },
    ]),
  );
  const measured = new Map();
  for (const line of (await readFile(file, 'utf8')).split('\n').filter((text) => text !== '')) {
    const figure = JSON.parse(line);
    const name = `${figure.row}|${figure.what}`;
    if (!(measured.get(name)?.milliseconds > figure.milliseconds)) measured.set(name, figure);
  }
  for (const [name, figure] of measured) figures.set(name, figure);
  const rows = [...figures.values()]
    .sort((a, b) => a.row.localeCompare(b.row))
    .map(({ row, what, milliseconds }) => `| ${row} | ${what} | ${(milliseconds / 1_000).toFixed(2)} s |`);
  const table = [
    `Measured on ${cpus().length} cores, shared with other work.`,
    '',
    '| when | what | took |',
    '|---|---|--:|',
    ...rows,
  ];
  const text = `${head}${MARKERS[0]}\n\n${table.join('\n')}\n\n${MARKERS[1]}${tail}`;
  await writeFile(PAGE, await format(text, { ...(await resolveConfig(PAGE)), parser: 'markdown' }));
}
