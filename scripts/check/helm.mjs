// Renders the Helm chart with every example and with extreme values, and checks the result against the schemas of
// Kubernetes, KEDA and the Prometheus operator, the settings in the code, and our own rules.
// usage: node scripts/check/helm.mjs [folder of a chart ...]
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { chartFacts } from './deploy-rules/chart-facts.mjs';
import { objectProblems } from './deploy-rules/chart-objects.mjs';
import { podProblems } from './deploy-rules/chart-pods.mjs';
import { reachProblems } from './deploy-rules/chart-reach.mjs';
import { valueProblems } from './deploy-rules/chart-values.mjs';
import { CHART, hasHelm, KUBERNETES, lintChart, renderChart } from './deploy-rules/helm.mjs';
import { schemaProblems } from './deploy-rules/kubernetes.mjs';
import { ROOT } from '../build/prepare.mjs';

const EXAMPLES = join(ROOT, 'deploy', 'helm', 'examples');
/** Connections of Postgres by default: max_connections of 100, minus 3 for superusers. */
const DEFAULT_CONNECTIONS = 97;
/** ConfigMaps that the examples expect. */
const CONFIG_MAPS = ['models', 'authority'];
const URL_SET = 'publicUrl=https://images.example.org';

const CASES = [
  ...readdirSync(EXAMPLES).map((file) => ({ name: file, files: [join(EXAMPLES, file)], set: [] })),
  { name: 'defaults', files: [], set: [URL_SET] },
  { name: 'PgBouncer and one Secret', files: [], set: [URL_SET, 'settings.DATABASE_POOLER=transaction'] },
  {
    name: 'IPv6 alone',
    files: [],
    set: [URL_SET, ...['HOST', 'METRICS_HOST', 'WORKER_HEALTH_HOST'].map((name) => `settings.${name}=::`)],
  },
  {
    name: 'slow calls of an own catalog',
    files: [],
    set: [URL_SET, `models.inline=${catalogOf(1_800_000)}`, 'worker.longestProviderTimeoutSeconds=1800'],
  },
  {
    name: 'nothing optional',
    files: [],
    set: [
      ...[URL_SET, 'api.autoscaling.enabled=false', 'worker.autoscaling.mode=none', 'metrics.enabled=false'],
      ...['networkPolicy.enabled=false', 'serviceAccount.create=false', 'api.podDisruptionBudget.enabled=false'],
      'worker.podDisruptionBudget.enabled=false',
    ],
  },
  {
    name: 'under a path, through proxies, with an own ServiceAccount',
    files: [],
    set: [
      ...[
        `${URL_SET}/tools/darkroom`,
        'settings.PROVIDER_PROXY=http://proxy:3128',
        'networkPolicy.proxies.ports={3128}',
      ],
      ...['serviceAccount.create=false', 'serviceAccount.name=darkroom', 'storage.createBucket=true'],
      ...['httpRoute.enabled=true', 'httpRoute.parentRefs[0].name=public', 'trustedProxies={10.0.0.0/8}'],
    ],
  },
  {
    name: 'long names',
    files: [],
    set: [URL_SET, `fullnameOverride=${'n'.repeat(45)}`, `image.digest=sha256:${'0'.repeat(64)}`],
  },
];
/** The cases that find most mistakes in a modified copy of the chart. */
const TELLING = ['production.yaml', 'defaults', 'PgBouncer and one Secret'];
/** Values that must be rejected, with the expected message. */
const REFUSED = [
  [[], 'publicUrl is required'],
  [[`${URL_SET}/v1/`], "at '/publicUrl'"],
  [[`${URL_SET}?a=b`], "at '/publicUrl'"],
  [[URL_SET, 'extraEnv[0].name=SECRET_KEY', 'extraEnv[0].value=0123456789'], "at '/extraEnv/0/name'"],
  [[URL_SET, 'api.extraEnv[0].name=A', 'api.extraEnv[0].value=http://us:er@x'], "at '/api/extraEnv/0/value'"],
  [[URL_SET, 'extraPodSpec.nodeSelector.a=b'], "invalid propertyName 'nodeSelector'"],
  [
    [URL_SET, 'settings.PROVIDER_PROXY=http://proxy:3128'],
    'networkPolicy.proxies.ports must have the port of PROVIDER_PROXY',
  ],
  [[URL_SET, 'worker.autoscaling.minReplica=3'], "additional properties 'minReplica' not allowed"],
  [[URL_SET, 'settings.SECRET_KEY=0123456789'], "invalid propertyName 'SECRET_KEY'"],
  [[URL_SET, 'settings.EGRESS_PROXY=http://us:er@filter:4750'], "at '/settings/EGRESS_PROXY'"],
  [[URL_SET, 'storage.endpoint=http://us:er@minio:9000'], "at '/storage/endpoint'"],
  [[URL_SET, 'api.settings.DATABASE_POOLER=transaction'], 'DATABASE_POOLER belongs under settings'],
  [[URL_SET, 'secrets.existingSecret='], 'secrets.existingSecret is required'],
  [[URL_SET, 'ingress.enabled=true', 'ingress.hosts={a.example.org}'], 'ingress.enabled needs trustedProxies'],
  [[URL_SET, 'ingress.enabled=true', 'trustedProxies={10.0.0.0/8}'], 'ingress.hosts is required'],
  [
    [URL_SET, 'httpRoute.enabled=true', 'httpRoute.parentRefs[0].name=public'],
    'httpRoute.enabled needs trustedProxies',
  ],
  [[URL_SET, 'models.existingConfigMap=models', 'models.inline=x'], 'exclude each other'],
  [[URL_SET, 'metrics.enabled=false', 'metrics.monitors.enabled=true'], 'needs metrics.enabled'],
  [[URL_SET, 'metrics.enabled=false', 'worker.autoscaling.mode=keda'], 'needs metrics.enabled'],
];

if (!hasHelm() && process.env.CI === undefined) {
  console.log('The chart was not checked: install Helm, which tools/ brings along for Linux on x64 only');
  process.exit(0);
}
const charts = process.argv.length > 2 ? process.argv.slice(2) : [CHART];
const facts = await chartFacts();
const problems = [];
const objects = [];
for (const chart of charts) {
  // A given folder is a copy with one change, so fewer cases are enough.
  const label = chart === CHART ? '' : `${chart}: `;
  const cases = chart === CHART ? CASES : CASES.filter(({ name }) => TELLING.includes(name));
  const versions = chart === CHART ? KUBERNETES : KUBERNETES.slice(-1);
  for (const one of cases) {
    for (const kubernetes of versions) problems.push(...problemsOf(chart, one, kubernetes).map((text) => label + text));
  }
  problems.push(...[...valueProblems(chart, facts), ...reachOf(chart)].map((text) => label + text));
  if (chart === CHART) problems.push(...thoroughProblems());
}
problems.push(...(await schemaProblems(objects)));

const distinct = [...new Set(problems)];
for (const problem of distinct) console.error(problem);
console.log(`${CASES.length} sets of values, ${objects.length} objects, ${distinct.length} problems in the chart`);
process.exitCode = distinct.length === 0 && objects.length > 0 ? 0 : 1;

/** A chart that does not render is reported by its cases. */
function reachOf(chart) {
  try {
    return reachProblems(chart);
  } catch {
    return [];
  }
}

/** The text of a models.yaml with one provider, without a comma or quote, which --set would interpret. */
function catalogOf(timeoutMs) {
  return [
    ...['providers:', '  far:', '    type: openai', '    options:', `      total_timeout_ms: ${timeoutMs}`],
    ...['models:', '  gpt-image-2:', '    kind: image', '    routes:', '      - provider: far'],
  ].join('\n');
}

function problemsOf(chart, { name, files, set }, kubernetes) {
  const { documents = [], problem } = renderChart(chart, files, { kubernetes, set });
  if (problem !== undefined) return [`${name}: ${problem}`];
  const label = chart === CHART ? '' : `${chart}: `;
  objects.push(...documents.map((document) => ({ label, document })));
  const wanted = {
    ...facts,
    budgets: !set.includes('api.podDisruptionBudget.enabled=false'),
    policies: !set.includes('networkPolicy.enabled=false'),
    configMaps: CONFIG_MAPS,
    choosesUsers: name === 'openshift.yaml',
    // Other values bring their own database.
    connections: name === 'defaults' ? DEFAULT_CONNECTIONS : Infinity,
  };
  return [...podProblems(documents, wanted), ...objectProblems(documents, wanted)].map((text) => `${name}: ${text}`);
}

/** Problems reported by Helm's lint for the examples, and by values that should be rejected. */
function thoroughProblems() {
  const linted = CASES.flatMap(({ name, files }) => {
    const said = files.length === 0 ? '' : lintChart(files);
    return said === '' ? [] : [`${name}: ${said}`];
  });
  const taken = REFUSED.flatMap(([set, reason]) => {
    const { problem = 'it is taken' } = renderChart(CHART, [], { set });
    return problem.includes(reason) ? [] : [`${set.join(', ')} must be refused (${reason}): ${problem}`];
  });
  return [...linted, ...taken];
}
