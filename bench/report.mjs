import { join } from 'node:path';
import { cellsOf, rewritePart } from '../scripts/run/marked-part.mjs';
import { megabytes, milliseconds } from './figures.mjs';

const DOCS = join(import.meta.dirname, '..', 'docs');
const COMMAND = 'npm run bench -- --record';
/** Measures under load, which also appear in docs/failure.md. */
const LOADS = ['waiting-callers', 'many-callers', 'polls', 'backlog', 'fairness', 'large-results'];

/** One measure: what it means, its figures as a Markdown table, other facts, and its goals. */
export function tableOf({ name, title, columns, rows, facts = [], goals }, meaning = '') {
  const lines = [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const verdicts = goals.map(({ text, value, met }) => `- ${met ? 'met' : '**missed**'}: ${text}: ${value}`);
  const below = [...facts.map((fact) => `- ${fact}`), ...verdicts];
  const above = meaning === '' ? [] : [meaning, ''];
  return [`### ${title} (\`${name}\`)`, '', ...above, ...lines, ...(below.length > 0 ? ['', ...below] : []), ''].join(
    '\n',
  );
}

/**
 * Writes the figures into docs/benchmarks.md, and the goals under load into docs/failure.md. What a measure means is
 * written there by hand and stays; measures that did not run keep their figures, with the machine of that run.
 */
export async function record(report, measured) {
  await rewritePart(join(DOCS, 'benchmarks.md'), COMMAND, (before) => {
    const sections = new Map(
      before.split(/^(?=### )/m).flatMap((text) => (nameOf(text) ? [[nameOf(text), text]] : [])),
    );
    for (const result of measured) {
      const table = tableOf(result, meaningOf(sections.get(result.name)));
      sections.set(result.name, `${table}\n${machineLine(report)}`);
    }
    return [missedOf(sections), ...sections.values()].map((text) => text.trim()).join('\n\n');
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

/** The goals of the page that are missed, from the lines of its sections. */
function missedOf(sections) {
  const goals = [...sections].flatMap(([name, text]) =>
    [...text.matchAll(/^- (met|\*\*missed\*\*): (.*)$/gm)].map(([, verdict, goal]) => ({ name, verdict, goal })),
  );
  const missed = goals.filter(({ verdict }) => verdict !== 'met');
  const lines = missed.map(({ name, goal }) => `- \`${name}\`: ${goal}`);
  return ['### Missed goals', '', `${missed.length} of ${goals.length}:`, '', ...lines].join('\n');
}

/** What was written by hand between a section's heading and its table. */
function meaningOf(section = '') {
  return /^### .*\n([^]*?)^\|/m.exec(section)?.[1].trim();
}

/** The name of a section's measure. */
function nameOf(section) {
  return /^### .*\(`([a-z-]+)`\)$/m.exec(section)?.[1];
}

function machineLine(report) {
  return [
    `Measured on ${report.date.slice(0, 10)}${report.quick ? ' with --quick' : ''}, in ${report.tookSeconds} s:`,
    `${report.cores} cores (${report.processor}), ${megabytes(report.memoryBytes)} memory, ${report.system},`,
    `Node ${report.node}, Postgres ${report.postgres};\nthe disk makes a page durable in`,
    `${milliseconds(report.flushMs)}; load before the run ${report.loadBefore.toFixed(1)}.`,
  ].join(' ');
}
