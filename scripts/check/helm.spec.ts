import { Ajv } from 'ajv';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const home = process.cwd();
const chart = join(home, 'deploy', 'helm', 'darkroom');
const folder = mkdtempSync(join(tmpdir(), 'check-helm-'));
const API = 'templates/api-deployment.yaml';
const SCALER = 'templates/worker-autoscaler.yaml';
const MIGRATE = 'templates/migrate.yaml';
const HELPERS = 'templates/_helpers.tpl';
const ENVIRONMENT = 'templates/_environment.tpl';
const DOCTOR = 'templates/tests/doctor.yaml';
const SCHEMA = 'values.schema.json';
const POLICIES = 'templates/network-policies.yaml';

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** One change to the chart, and what must be said about it. */
type Fault = readonly [file: string, from: string, to: string, problem: string];

/** One of its calls takes longer than the grace of workers. */
const SLOW_CATALOG =
  'providers: { far: { type: openai, options: { total_timeout_ms: 900000 } } }\n' +
  'models: { gpt-image-2: { kind: image, routes: [{ provider: far }] } }\n';

/** Each list is one broken chart: what would hide something else comes in another. */
const charts: readonly (readonly Fault[])[] = [
  [
    [ENVIRONMENT, 'max .Values.api.longestCallSeconds', 'max 90', 'an update cuts off chats'],
    [API, 'livenessProbe:', 'livenesProbe:', `'"livenesProbe"' does not exist in type`],
    [API, 'minReadySeconds: 5', 'minReadySeconds: soon', 'data/spec/minReadySeconds must be integer'],
    [API, ' "DATABASE_DIRECT_URL" }}', ' }}', 'Deployment release-darkroom-api: behind a pooler, commands need'],
    [DOCTOR, ' "DATABASE_DIRECT_URL" }}', ' }}', 'Pod release-darkroom-doctor: behind a pooler, commands need'],
    [
      MIGRATE,
      '(list "DATABASE_DIRECT_URL") list)',
      'list list)',
      'Job release-darkroom-migrate: behind a pooler, commands need',
    ],
    [DOCTOR, '(pick $worker "SHUTDOWN_GRACE_MS")', 'dict', 'SHUTDOWN_GRACE_MS must be that of workers'],
    [ENVIRONMENT, 'add 1 (ternary .replicas', 'add 0 (ternary .replicas', 'args must be doctor --apis=21 --workers=41'],
    ['values.yaml', 'maxReplicas: 4', 'maxReplicas: 5', '6 APIs and 11 workers open 104 connections, 97 are allowed'],
    [SCHEMA, 'DATABASE_DIRECT_URL|', '', 'api.settings: DATABASE_DIRECT_URL may be given in plain'],
    [SCHEMA, 'HEADERS$|', '', ': settings: OTEL_EXPORTER_OTLP_HEADERS may be given in plain'],
    [SCHEMA, '://[^/?#]*@', '@$', 'worker.settings: PROVIDER_PROXY may be given in plain'],
    [ENVIRONMENT, 'METRICS_HOST: 0.0.0.0', 'METRICS_HOST: 127.0.0.1', 'METRICS_HOST must be 0.0.0.0 or ::'],
    [API, 'path: /readyz', 'path: /ready', 'readinessProbe must ask /readyz'],
    [API, 'containerPort: 8080', 'containerPort: 8088', 'the port http must be PORT'],
    [ENVIRONMENT, 'mul .Values.api.drainSeconds 1000', 'mul 0 1000', 'SHUTDOWN_DELAY_MS is needed'],
    [
      API,
      '          resources:',
      '          lifecycle: { preStop: { sleep: { seconds: 9 } } }\n          resources:',
      'a preStop hook',
    ],
    [API, 'maxUnavailable: 0', 'maxUnavailable: 1', 'maxUnavailable must be 0'],
    [API, '{{- if not .Values.api.autoscaling.enabled }}', '{{- if true }}', 'replicas would undo'],
    [API, '{{- toYaml .Values.api.resources', '{{- toYaml (dict)', 'it needs requests of CPU and memory'],
    [ENVIRONMENT, 'SYNC_WAIT_MS:', 'SYNC_WIAT_MS:', 'SYNC_WIAT_MS is no setting of ours'],
    [ENVIRONMENT, 'STORAGE: s3', 'STORAGE: s3\nOPENAI_API_KEY: sk-shared', 'OPENAI_API_KEY must come from a Secret'],
    [ENVIRONMENT, 'STORAGE: s3', 'STORAGE: s3\nOIDC_ISSUER: http://me:it@idp', 'OIDC_ISSUER holds a password'],
    [ENVIRONMENT, 'WORKER_HEALTH_HOST: 0.0.0.0', '', 'WORKER_HEALTH_HOST must be 0.0.0.0'],
    [
      'values.yaml',
      'readOnlyRootFilesystem: true',
      'readOnlyRootFilesystem: false',
      'the root file system must be read-only',
    ],
    ['values.yaml', 'drop: [ALL]', 'drop: [ALL], add: [NET_RAW]', 'all capabilities must be dropped'],
    ['values.yaml', 'runAsUser: 1000', 'runAsUser: 0', 'it must run as user 1000'],
    [HELPERS, 'enableServiceLinks: false', 'hostNetwork: true', 'hostNetwork opens the pod'],
    [HELPERS, '.tag | default $.Chart.AppVersion', '.pullPolicy | replace "IfNotPresent" "latest"', 'is not pinned'],
    [HELPERS, 'emptyDir: { sizeLimit: 256Mi }', 'hostPath: { path: /tmp }', 'is a folder of the node'],
    ['templates/api-service.yaml', 'targetPort: http', 'targetPort: htpt', 'no container has a port htpt'],
    [
      'templates/disruption-budgets.yaml',
      '(list $ $component) | nindent 6',
      '(list $ "web") | nindent 6',
      'it selects nothing',
    ],
    ['templates/ingress.yaml', '-api, port:', '-app, port:', 'release-darkroom-app is not there'],
    [SCALER, 'max(darkroom_predicted_wait_seconds', 'max(darkroom_predicted_wait', 'no metric darkroom_predicted_wait'],
    [SCALER, 'cooldownPeriod: 300', 'coolDownPeriod: 300', `'"coolDownPeriod"' does not exist in type`],
    [MIGRATE, 'pre-install,pre-upgrade', 'post-install,post-upgrade', 'it must run before anything is replaced'],
    [MIGRATE, 'darkroom.jobServiceAccountName', 'darkroom.serviceAccountName', 'only made after it'],
    [
      HELPERS,
      'with concat $all.hostAliases $values.hostAliases',
      'with $all.hostAliases',
      'Deployment release-darkroom-api: api.hostAliases does not reach it',
    ],
    [
      HELPERS,
      'with default $all.dnsPolicy',
      'with default ""',
      'Pod release-darkroom-doctor: dnsPolicy does not reach it',
    ],
    [
      MIGRATE,
      '{{- with include "darkroom.extraContainers" (list . .Values.migrate) }}',
      '{{- with "" }}',
      'migrate: extraContainers does not reach it',
    ],
    [POLICIES, 'policyTypes: [Ingress, Egress]', 'policyTypes: [Ingress]', 'both directions must be closed'],
    [POLICIES, '{{- if .ports }}', '{{- if true }}', 'an egress rule must name its ports'],
    [
      'templates/monitors.yaml',
      '(list $ "api-metrics")',
      '(list $ "metrics")',
      'ServiceMonitor release-darkroom-api: it selects',
    ],
  ],
  [
    [DOCTOR, '(omit .Values.worker.settings "DATABASE_POOL")', '$worker', 'DATABASE_POOL must be that of the API'],
    [API, 'name: http, containerPort', 'name: web, containerPort', 'the port of startupProbe is not named'],
    [API, 'add .Values.api.drainSeconds', 'add 0', 'terminationGracePeriodSeconds must exceed'],
    [ENVIRONMENT, '.longestProviderTimeoutSeconds 30', '.concurrency 30', 'must reach the longest call to a provider'],
    [
      ENVIRONMENT,
      'max .Values.api.longestCallSeconds (add .Values.api.syncWaitSeconds 10)',
      '.Values.api.syncWaitSeconds',
      'must exceed SYNC_WAIT_MS',
    ],
    [ENVIRONMENT, 'STORAGE: s3', 'STORAGE: tape', 'STORAGE must be'],
    [
      SCALER,
      'kind: Deployment, name: {{ $name }}',
      'kind: Deployment, name: workers',
      'its target workers is not there',
    ],
    [POLICIES, 'list "api" "worker" "migrate"', 'list "api" "worker"', 'it needs one NetworkPolicy'],
    ['Chart.yaml', 'appVersion: ', 'appVersion: 0.', 'the appVersion must be'],
  ],
  [[API, 'args: [api]', 'args: [app]', 'args must name a role']],
  [['values.yaml', 'drainSeconds: 10', 'drainSeconds: soon', "at '/api/drainSeconds': got string, want integer"]],
  [['values.yaml', "inline: ''", `inline: ${JSON.stringify(SLOW_CATALOG)}`, 'a call may take 900000 ms']],
  [['values.yaml', 'drainSeconds: 10', 'drainSeconds: 10\n  warmUp: 3', 'api.warmUp: the schema does not know it']],
];

/** A copy of the chart with these changes. */
function makeChart(name: string, faults: readonly Fault[]): string {
  const copy = join(folder, name);
  cpSync(chart, copy, { recursive: true });
  for (const [file, from, to] of faults) {
    const before = readFileSync(join(copy, file), 'utf8');
    const after = before.replace(from, () => to);
    if (after === before) throw new Error(`nothing to replace in ${file}: ${from}`);
    writeFileSync(join(copy, file), after);
  }
  return copy;
}

it('says what is wrong with each faulty chart', () => {
  const copies = charts.map((faults, index) => makeChart(`chart-${index}`, faults));
  const script = join(home, 'scripts', 'check', 'helm.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, ...copies], { encoding: 'utf8', timeout: 300_000 });
  expect(status).toBe(1);
  const problems = stderr.split('\n');
  const unnoticed = charts.flatMap((faults, index) => {
    const said = problems.filter((line) => line.startsWith(`${copies[index]}: `)).join('\n');
    return faults.filter(([, , , problem]) => !said.includes(problem)).map((fault) => [fault, said]);
  });
  expect(unnoticed).toEqual([]);
}, 360_000);

it('refuses misspelt values and secrets among them, in every place', () => {
  const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')) as object;
  const accepts = new Ajv({ strict: false }).compile(schema);
  const taken = [
    { settings: { LOG_LEVEL: 'debug', DATABASE_POOL: 5 } },
    { settings: { EGRESS_PROXY: 'http://filter.internal:4750', MAIL_FROM: 'Darkroom <darkroom@example.org>' } },
    { storage: { endpoint: 'https://s3.example.org/a@b' }, publicUrl: 'https://images.example.org' },
    { secrets: { from: { DATABASE_URL: { name: 'postgres-app', key: 'uri' } } } },
  ].filter((values) => !accepts(values));
  const refused = [
    { workers: {} },
    { api: { replica: 3 } },
    { api: { autoscaling: { minReplicas: '2' } } },
    { worker: { autoscaling: { mode: 'KEDA' } } },
    { worker: { autoscaling: { keda: { address: 'http://x' } } } },
    { image: { digest: 'sha256:1' } },
    { networkPolicy: { apiFrom: [{ namespaceSelectors: {} }] } },
    { secrets: { existingSecret: 'x', SECRET_KEY: 'y' } },
    ...['SECRET_KEY', 'SECRET_KEY_PREVIOUS', 'OPENAI_API_KEY', 'DATABASE_URL', 'S3_ACCESS_KEY_ID', 'log-level'].map(
      (name) => ({ worker: { settings: { [name]: 'x' } } }),
    ),
    ...['DATABASE_DIRECT_URL', 'OTEL_EXPORTER_OTLP_HEADERS'].map((name) => ({ settings: { [name]: 'x' } })),
    { settings: { SMTP_URL: 'smtp://me:it@mail.example.org:587' } },
    { api: { settings: { EGRESS_PROXY: 'http://token@filter.internal:4750' } } },
    { worker: { settings: { PROVIDER_PROXY: 'http://me:it@proxy.internal:3128' } } },
    { storage: { endpoint: 'http://me:it@minio:9000' } },
    { publicUrl: 'https://me:it@images.example.org' },
    { worker: { autoscaling: { keda: { prometheusAddress: 'http://me:it@prometheus:9090' } } } },
  ].filter((values) => accepts(values));
  expect([taken, refused]).toEqual([[], []]);
});
