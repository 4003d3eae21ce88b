import { join } from 'node:path';
import { cellsOf, rewritePart } from '../scripts/marked-part.mjs';
import { megabytes, milliseconds } from './figures.mjs';

const DOCS = join(import.meta.dirname, '..', 'docs');
const COMMAND = 'npm run bench -- --record';
/** Measures of what must hold under load, which docs/failure.md tells too. */
const LOADS = ['waiting-callers', 'many-callers', 'polls', 'backlog', 'fairness', 'large-results'];

/** One measure as a Markdown table, with what else it found and its goals below. */
export function tableOf({ name, title, columns, rows, facts = [], goals }) {
  const lines = [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const verdicts = goals.map(({ text, value, met }) => `- ${met ? 'met' : '**missed**'}: ${text}: ${value}`);
  const below = [...facts.map((fact) => `- ${fact}`), ...verdicts];
  return [`### ${title} (\`${name}\`)`, '', ...lines, ...(below.length > 0 ? ['', ...below] : []), ''].join('\n');
}

/**
 * Puts the figures in their place in docs/benchmarks.md, and the goals under load in docs/failure.md. What was not
 * measured stays, with the machine it was measured on.
 */
export async function record(report, measured) {
  const own = measured.map((result) => [result.name, `${tableOf(result)}\n${machineLine(report)}`]);
  await rewritePart(join(DOCS, 'benchmarks.md'), COMMAND, (before) => {
    const sections = new Map(
      before.split(/^(?=### )/m).flatMap((text) => (nameOf(text) ? [[nameOf(text), text]] : [])),
    );
    for (const [name, text] of own) sections.set(name, text);
    return [goalsOf(sections), ...sections.values()].map((text) => text.trim()).join('\n\n');
  });
  const summary = measured.find(({ name }) => name === 'peers')?.summary;
  if (summary !== undefined) await rewritePart(join(DOCS, '..', 'README.md'), COMMAND, () => summary);
  const goals = measured
    .filter(({ name }) => LOADS.includes(name))
    .flatMap(({ goals, name }) => goals.map((goal) => ({ ...goal, name })));
  await rewritePart(join(DOCS, 'failure.md'), COMMAND, (before) => {
    const kept = cellsOf(before).filter(([, , name]) => !goals.some((goal) => name === `\`${goal.name}\``));
    const rows = [
      ...kept,
      ...goals.map(({ text, value, met, name }) => [text, met ? value : `**${value}**`, `\`${name}\``]),
    ];
    return ['| goal | measured | bench |', '|---|--:|---|', ...rows.map((cells) => `| ${cells.join(' | ')} |`)].join(
      '\n',
    );
  });
}

/** Every goal of the page and where it stands, as the sections' own lines tell. */
function goalsOf(sections) {
  const rows = [...sections].flatMap(([name, text]) =>
    [...text.matchAll(/^- (met|\*\*missed\*\*): (.*?): (.*)$/gm)].map(
      ([, verdict, goal, value]) => `| ${goal} | ${value} | ${verdict} | \`${name}\` |`,
    ),
  );
  return ['### All goals', '', '| goal | measured | | measure |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

/** The measure that a section of the page is about. */
function nameOf(section) {
  return /^### .*\(`([a-z-]+)`\)$/m.exec(section)?.[1];
}

function machineLine(report) {
  return [
    `Measured on ${report.date.slice(0, 10)}${report.quick ? ' with --quick' : ''}, in ${report.tookSeconds} s:`,
    `${report.cores} cores (${report.processor}), ${megabytes(report.memoryBytes)} memory, ${report.system},`,
    `Node ${report.node}, Postgres ${report.postgres}; the disk makes a page durable in ${milliseconds(report.flushMs)};`,
    `load before the run ${report.loadBefore.toFixed(1)}.`,
  ].join('\n');
}
