// Checks that dashboards, alerts and runbook agree: every metric and label they use is in the table of
// docs/operations.md (a test compares it with what processes serve; test/balancer does so for HAProxy's), every alert
// has a heading in docs/runbook.md and tests for firing and for staying quiet, and the rules pass those tests.
// usage: node scripts/check/alerts.mjs [root]
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const root = process.argv[2] ?? join(import.meta.dirname, '..', '..');
const read = (path) => readFileSync(join(root, path), 'utf8');
const RULES = 'deploy/alerts/darkroom.rules.yml';
const TESTS = 'deploy/alerts/darkroom.test.yml';
/** Metrics of Prometheus itself, and Node's and the system's from prom-client. */
const FOREIGN = /^(?:up|nodejs_\w+|process_\w+)$/;
/** Labels added by scraping, and the one of histograms. */
const EVERYWHERE = ['job', 'instance', 'le'];

const metrics = metricsOf(read('docs/operations.md'));
const headings = new Set([...read('docs/runbook.md').matchAll(/^## (\w+)$/gm)].map(([, name]) => name));
const rules = parse(read(RULES)).groups.flatMap((group) => group.rules);
const tests = parse(read(TESTS)).tests;
const problems = [
  ...rules.flatMap((rule) => [...problemsOfRule(rule), ...problemsOfTests(rule)]),
  ...dashboards().flatMap(problemsOfDashboard),
  ...promtool(),
];
for (const heading of headings)
  if (!rules.some(({ alert }) => alert === heading)) problems.push(`docs/runbook.md: there is no alert ${heading}`);
for (const problem of problems) console.error(problem);
console.log(
  `${rules.length} alerts, ${dashboards().length} dashboards, ${metrics.size} metrics, ${problems.length} problems`,
);
process.exitCode = problems.length === 0 && rules.length > 0 && metrics.size > 0 ? 0 : 1;

/** The metrics of the table, with their labels. */
function metricsOf(text) {
  const found = new Map();
  const section = text.split('\n## Metrics\n')[1]?.split('\n## ')[0] ?? '';
  for (const [, names, labels] of section.matchAll(/^\| (`[^|]+) \|([^|]*)\| (?:API|worker|all) \|/gm))
    for (const [, name] of names.matchAll(/`([a-z_]+)`/g))
      found.set(`darkroom_${name}`, [...labels.matchAll(/\w+/g)].map(String));
  return found;
}

function dashboards() {
  return readdirSync(join(root, 'deploy/grafana')).map((file) => `deploy/grafana/${file}`);
}

function problemsOfRule({ alert, expr, annotations = {}, labels = {} }) {
  const named = `${RULES}: ${alert}`;
  const found = problemsOfQuery(expr).map((problem) => `${named}: ${problem}`);
  if (!headings.has(alert)) found.push(`${named} has no heading in docs/runbook.md`);
  if (annotations.runbook_url !== `docs/runbook.md#${alert.toLowerCase()}`)
    found.push(`${named}: runbook_url must name its heading`);
  if (annotations.summary === undefined) found.push(`${named} needs a summary`);
  if (!['critical', 'warning', 'info'].includes(labels.severity)) found.push(`${named} needs a severity`);
  return found;
}

/** An alert without input never fires, so only test cases with one of its metrics count. */
function problemsOfTests({ alert, expr }) {
  const cases = tests
    .filter(({ input_series }) => input_series.some(({ series }) => expr.includes(/^\w+/.exec(series)[0])))
    .flatMap(({ alert_rule_test }) => alert_rule_test)
    .filter(({ alertname }) => alertname === alert)
    .map(({ exp_alerts = [] }) => exp_alerts.length > 0);
  return [
    ...(cases.includes(true) ? [] : [`${TESTS}: no case in which ${alert} fires`]),
    ...(cases.includes(false) ? [] : [`${TESTS}: no case in which ${alert} is quiet`]),
  ];
}

function problemsOfDashboard(file) {
  const queries = JSON.parse(read(file)).panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr })),
  );
  if (queries.length === 0) return [`${file} asks for nothing`];
  return queries.flatMap(({ title, expr }) => problemsOfQuery(expr).map((problem) => `${file}: ${title}: ${problem}`));
}

/** Checks each selector with its labels, and the grouping labels of the query. */
function problemsOfQuery(expr) {
  const text = expr.replaceAll(/"[^"]*"/g, '""');
  const grouped = [...text.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) =>
    list.split(',').map((label) => label.trim()),
  );
  const known = new Set(EVERYWHERE);
  const found = [];
  for (const [, name, selector = ''] of text.matchAll(/\b((?:darkroom|nodejs|process)_\w+|up)\b(?:\{([^}]*)\})?/g)) {
    const metric = metrics.has(name) ? name : name.replace(/_(?:bucket|count|sum)$/, '');
    if (FOREIGN.test(name)) continue;
    const labels = metrics.get(metric);
    if (labels === undefined) {
      found.push(`there is no metric ${name}`);
      continue;
    }
    for (const label of labels) known.add(label);
    for (const [, label] of selector.matchAll(/(\w+)\s*[=!]/g))
      if (!labels.includes(label) && !EVERYWHERE.includes(label)) found.push(`${name} has no label ${label}`);
  }
  return [...found, ...grouped.filter((label) => !known.has(label)).map((label) => `nothing has a label ${label}`)];
}

/** Runs Prometheus' own promtool if it is installed, as it is in CI. */
function promtool() {
  if (spawnSync('promtool', ['--version']).error !== undefined) {
    console.log('promtool is not installed (Debian: prometheus): the rules were not run');
    return process.env.CI === 'true' && process.argv[2] === undefined ? ['promtool is missing'] : [];
  }
  return [
    ['check', 'rules', RULES],
    ['test', 'rules', TESTS],
  ].flatMap((args) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: root, encoding: 'utf8', timeout: 60_000 });
    return status === 0 ? [] : [`promtool ${args.join(' ')}:\n${stdout}${stderr}`];
  });
}
