import { environmentOf, podsOf } from './chart-pods.mjs';

const HOOK = 'helm.sh/hook';
const METRIC = /\bdarkroom_[a-z_]+/g;

/** All mismatches between the objects of the chart, one sentence each. */
export function objectProblems(documents, facts) {
  return [
    ...names(documents),
    ...selectors(documents),
    ...documents.flatMap((document) => {
      const rules = RULES[document.kind] ?? [];
      return rules
        .flatMap((rule) => rule(document, documents, facts))
        .map((problem) => `${document.kind} ${document.metadata.name}: ${problem}`);
    }),
    ...documents.filter(({ kind }) => kind === 'Secret').map(() => 'Secret: the chart holds none'),
  ];
}

const RULES = {
  Deployment: [rolling, scaled, budgeted, guarded, mounted],
  Job: [hooked, guarded],
  Pod: [planned, guarded],
  HorizontalPodAutoscaler: [target],
  ScaledObject: [target, measured],
  Service: [targetPorts],
  Ingress: [backends, trusted],
  HTTPRoute: [routed, trusted],
  NetworkPolicy: [closed],
  ConfigMap: [catalogd],
};

function names(documents) {
  const seen = new Set();
  return documents.flatMap(({ kind, metadata: { name, namespace } }) => {
    const problems = [];
    if (seen.has(`${kind} ${name}`)) problems.push(`${kind} ${name}: there are two`);
    seen.add(`${kind} ${name}`);
    if (name.length > 63) problems.push(`${kind} ${name}: the name is too long`);
    if (namespace !== undefined) problems.push(`${kind} ${name}: the namespace is the release's`);
    return problems;
  });
}

/** Whether a selector matches labels; an empty one would match everything. */
function fits(selector, labels) {
  const wanted = Object.entries(selector ?? {});
  return wanted.length > 0 && wanted.every(([name, value]) => labels?.[name] === value);
}

/** The selectors of each kind, and the labels that they have to match. */
function selectors(documents) {
  const pods = podsOf(documents);
  const services = documents.filter(({ kind }) => kind === 'Service');
  const selected = {
    Deployment: ({ spec }) => [spec.selector.matchLabels, pods],
    Service: ({ spec }) => [spec.selector, pods],
    PodDisruptionBudget: ({ spec }) => [spec.selector.matchLabels, pods],
    NetworkPolicy: ({ spec }) => [spec.podSelector.matchLabels, pods],
    PodMonitor: ({ spec }) => [spec.selector.matchLabels, pods],
    ServiceMonitor: ({ spec }) => [spec.selector.matchLabels, services],
  };
  return documents.flatMap((document) => {
    const select = selected[document.kind];
    if (select === undefined) return [];
    const [selector, among] = select(document);
    const found = among.filter(({ metadata }) => fits(selector, metadata.labels));
    const own = document.kind !== 'Deployment' || found.every(({ owner }) => owner === document);
    const problem = found.length === 0 ? 'it selects nothing' : 'it selects the pods of another';
    return found.length === 1 && own ? [] : [`${document.kind} ${document.metadata.name}: ${problem}`];
  });
}

function rolling({ spec }) {
  const { type, rollingUpdate = {} } = spec.strategy ?? {};
  if (type === 'RollingUpdate' && rollingUpdate.maxUnavailable === 0) return [];
  return ['maxUnavailable must be 0: a new pod is ready before an old one stops'];
}

/** With an autoscaler, every update would reset a fixed number of pods. */
function scaled({ metadata, spec }, documents) {
  const scalers = documents.filter((one) => one.spec?.scaleTargetRef?.name === metadata.name);
  if (scalers.length > 1) return ['two autoscalers would work against each other'];
  if (scalers.length === 1 && spec.replicas !== undefined) return ['replicas would undo what the autoscaler did'];
  return scalers.length === 0 && spec.replicas === undefined ? ['it needs replicas or an autoscaler'] : [];
}

function budgeted({ spec }, documents, { budgets }) {
  const own = documents.filter(
    ({ kind, spec: other }) =>
      kind === 'PodDisruptionBudget' && fits(other.selector.matchLabels, spec.template.metadata.labels),
  );
  return budgets && own.length !== 1 ? ['it needs one PodDisruptionBudget'] : [];
}

function guarded({ metadata, spec }, documents, { policies }) {
  const { labels } = spec.template?.metadata ?? metadata;
  const own = documents.filter(
    ({ kind, spec: other }) => kind === 'NetworkPolicy' && fits(other.podSelector.matchLabels, labels),
  );
  return policies && own.length !== 1 ? ['it needs one NetworkPolicy'] : [];
}

/** The catalog is mounted from an existing ConfigMap. */
function mounted({ spec }, documents, { configMaps }) {
  return (spec.template.spec.volumes ?? []).flatMap(({ configMap }) => {
    if (configMap === undefined || configMaps.includes(configMap.name)) return [];
    const own = documents.some(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMap.name);
    return own ? [] : [`the ConfigMap ${configMap.name} is not there`];
  });
}

/** At the first install, no other object of the chart exists yet. */
function hooked({ metadata, spec }, documents) {
  const problems = [];
  if (metadata.annotations?.[HOOK] !== 'pre-install,pre-upgrade')
    problems.push('it must run before anything is replaced');
  if (!String(metadata.annotations?.['helm.sh/hook-delete-policy']).includes('before-hook-creation'))
    problems.push('the Job of the last release would be in its way');
  if (spec.activeDeadlineSeconds === undefined) problems.push('it needs a deadline');
  const { serviceAccountName, volumes = [] } = spec.template.spec;
  const weightOf = (one) => Number(one.metadata.annotations?.['helm.sh/hook-weight'] ?? Infinity);
  const isLater = (kind, name) =>
    documents.some((one) => one.kind === kind && one.metadata.name === name && weightOf(one) >= weightOf({ metadata }));
  if (
    isLater('ServiceAccount', serviceAccountName) ||
    volumes.some(({ configMap }) => isLater('ConfigMap', configMap?.name))
  )
    problems.push('it needs what is only made after it');
  return problems;
}

/** The service accepts the catalog, and a stopping worker waits for its longest call. */
function catalogd({ data }, documents, { catalogProblems, longestCallOf }) {
  const text = data['models.yaml'] ?? '';
  const problems = catalogProblems(text);
  if (problems.length > 0) return problems;
  const { settings } = componentOf('worker', documents);
  const longest = longestCallOf(text, settings);
  if (longest <= Number(settings.SHUTDOWN_GRACE_MS)) return [];
  return [`a call may take ${longest} ms: worker.longestProviderTimeoutSeconds must reach that`];
}

/** The pod of a component and the object that creates it; empty if there is none. */
function componentOf(name, documents) {
  const isIts = ({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === name;
  const { owner, spec } = podsOf(documents).find(isIts) ?? { owner: {}, spec: { containers: [{}] } };
  return { owner, settings: environmentOf(spec.containers[0]) };
}

/** The doctor adds up the connections of the maximum number of pods, and knows the grace time of workers. */
function planned({ spec }, documents, { pool, connections }) {
  const [doctor, api, worker] = ['doctor', 'api', 'worker'].map((name) => componentOf(name, documents));
  const [apis, workers] = [api, worker].map(({ owner }) => mostOf(owner, documents));
  const [apiPool, workerPool] = [api, worker].map(({ settings }) => Number(settings.DATABASE_POOL ?? pool));
  const wanted = `doctor --apis=${apis} --workers=${workers} --worker-pool=${workerPool}`;
  const sum = apis * apiPool + workers * workerPool;
  const problems = [];
  if (spec.containers[0].args.join(' ') !== wanted) problems.push(`args must be ${wanted}`);
  if (doctor.settings.DATABASE_POOL !== api.settings.DATABASE_POOL)
    problems.push('DATABASE_POOL must be that of the API');
  if (doctor.settings.SHUTDOWN_GRACE_MS !== worker.settings.SHUTDOWN_GRACE_MS)
    problems.push('SHUTDOWN_GRACE_MS must be that of workers');
  if (sum > connections)
    problems.push(`${apis} APIs and ${workers} workers open ${sum} connections, ${connections} are allowed`);
  return problems;
}

/** Maximum pods of a Deployment: the upper limit of its autoscaler, plus one during an update. */
function mostOf({ metadata, spec }, documents) {
  const scaler = documents.find((one) => one.spec?.scaleTargetRef?.name === metadata?.name)?.spec;
  const most = scaler?.maxReplicas ?? scaler?.maxReplicaCount ?? spec?.replicas;
  return most + spec?.strategy.rollingUpdate.maxSurge;
}

function target({ spec }, documents) {
  const { kind, name } = spec.scaleTargetRef;
  const own = documents.some((one) => one.kind === kind && one.metadata.name === name);
  return own ? [] : [`its target ${name} is not there`];
}

/** A query for a metric that does not exist never scales. */
function measured({ spec }, _documents, { metrics }) {
  return spec.triggers.flatMap(({ metadata }) => {
    const asked = `${metadata.query ?? ''} ${metadata.valueLocation ?? ''}`.match(METRIC) ?? [];
    if (asked.length === 0) return ['a trigger asks for no metric of ours'];
    return asked.filter((name) => !metrics.has(name)).map((name) => `there is no metric ${name}`);
  });
}

function targetPorts({ spec }, documents) {
  const containers = podsOf(documents)
    .filter(({ metadata }) => fits(spec.selector, metadata.labels))
    .flatMap((pod) => pod.spec.containers);
  const ports = new Set(containers.flatMap(({ ports: own = [] }) => own.map(({ name }) => name)));
  return spec.ports
    .filter(({ targetPort }) => !ports.has(targetPort))
    .map(({ targetPort }) => `no container has a port ${targetPort}`);
}

function backends({ spec }, documents) {
  return spec.rules
    .flatMap(({ http }) => http.paths)
    .flatMap(({ backend: { service } }) => {
      const own = documents.find(({ kind, metadata }) => kind === 'Service' && metadata.name === service.name);
      if (own === undefined) return [`the Service ${service.name} is not there`];
      return own.spec.ports.some(({ name }) => name === service.port.name) ? [] : [`${service.name} has no such port`];
    });
}

function routed({ spec }, documents) {
  return spec.rules
    .flatMap(({ backendRefs }) => backendRefs)
    .flatMap(({ name, port: wanted }) => {
      const own = documents.find(({ kind, metadata }) => kind === 'Service' && metadata.name === name);
      if (own === undefined) return [`the Service ${name} is not there`];
      return own.spec.ports.some(({ port }) => port === wanted) ? [] : [`${name} has no port ${wanted}`];
    });
}

/** Behind an untrusted proxy, all callers look like one. */
function trusted(_ingress, documents) {
  const api = podsOf(documents).find(({ spec }) => spec.containers[0].args[0] === 'api');
  const named = (api?.spec.containers[0].env ?? []).some(({ name }) => name === 'TRUSTED_PROXIES');
  return named ? [] : ['the API needs TRUSTED_PROXIES'];
}

/** Only the named scrapers may read metrics, and both directions are closed except for what is listed. */
function closed({ spec }) {
  const problems = [];
  if (!['Ingress', 'Egress'].every((type) => (spec.policyTypes ?? []).includes(type)))
    problems.push('both directions must be closed');
  for (const { from, ports } of spec.ingress ?? []) {
    if (!ports?.length) problems.push('a rule must name its ports');
    else if (ports.some(({ port }) => port === 'metrics') && from === undefined)
      problems.push('metrics have no authentication: name who may read them');
  }
  if ((spec.egress ?? []).some(({ ports }) => !ports?.length)) problems.push('an egress rule must name its ports');
  return problems;
}
