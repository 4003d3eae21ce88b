import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { megabytes, milliseconds } from './figures.mjs';

const PAGE = join(import.meta.dirname, '..', 'docs', 'benchmarks.md');
const MARKERS = ['<!-- figures: written by npm run bench -- --record -->', '<!-- end of figures -->'];

/** One measure as a Markdown table, with its goals below. */
export function tableOf({ name, title, columns, rows, goals }) {
  const lines = [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const verdicts = goals.map(({ text, value, met }) => `- ${met ? 'met' : '**missed**'}: ${text}: ${value}`);
  return [`### ${title} (\`${name}\`)`, '', ...lines, ...(verdicts.length > 0 ? ['', ...verdicts] : []), ''].join('\n');
}

/** Puts the figures in their place in docs/benchmarks.md. */
export async function record(report, measured) {
  const before = readFileSync(PAGE, 'utf8');
  const [head, rest] = before.split(MARKERS[0]);
  const tail = rest?.split(MARKERS[1])[1];
  if (tail === undefined) throw new Error(`docs/benchmarks.md lacks the markers ${MARKERS.join(' and ')}`);
  const body = [machineLine(report), ...measured.map(tableOf)].join('\n\n');
  const page = `${head}${MARKERS[0]}\n\n${body}\n${MARKERS[1]}${tail}`;
  writeFileSync(PAGE, await format(page, { ...(await resolveConfig(PAGE)), filepath: PAGE }));
}

function machineLine(report) {
  return [
    `Measured on ${report.date.slice(0, 10)}${report.quick ? ' with --quick' : ''}, in ${report.tookSeconds} s:`,
    `${report.cores} cores (${report.processor}), ${megabytes(report.memoryBytes)} memory, ${report.system},`,
    `Node ${report.node}, Postgres ${report.postgres}; the disk makes a page durable in ${milliseconds(report.flushMs)};`,
    `load before the run ${report.loadBefore.toFixed(1)}.`,
  ].join('\n');
}
