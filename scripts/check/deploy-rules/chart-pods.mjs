/** Named like secrets, but public. */
const NO_SECRETS = new Set(['PASSWORD_SIGN_IN']);
const SECRET_NAME =
  /PASSWORD|SECRET|TOKEN|PRIVATE|^(DATABASE|DATABASE_DIRECT|REDIS)_URL$|HEADERS$|(^|_)KEY(_ID|_PREVIOUS)?$/;
/** A process needs time to close after its grace time, before it is killed. */
const MARGIN_SECONDS = 5;
/** The roles of the image. */
const ROLES = ['api', 'worker', 'migrate', 'bucket', 'doctor'];
const SERVERS = ['api', 'worker'];
/** Roles that run operator commands; in an API by `kubectl exec`. */
const COMMANDED = ['api', 'migrate', 'doctor'];
/**
 * Addresses that are reachable from outside the container: all of IPv4, or of IPv6 and, if the kernel has both, IPv4.
 */
const EVERYWHERE = ['0.0.0.0', '::'];

/** The pods of the chart, each with the object that creates it. */
export function podsOf(documents) {
  return documents.flatMap((owner) => {
    if (owner.kind === 'Pod') return [{ owner, metadata: owner.metadata, spec: owner.spec }];
    const { template } = owner.spec ?? {};
    return template === undefined ? [] : [{ owner, metadata: template.metadata, spec: template.spec }];
  });
}

/** A container's settings, with a possible secret in place of each reference; optional references are left out. */
export function environmentOf(container) {
  return Object.fromEntries(
    (container.env ?? []).flatMap(({ name, value, valueFrom }) => {
      if (valueFrom === undefined) return [[name, value]];
      return valueFrom.secretKeyRef?.optional === true ? [] : [[name, placeholder(name)]];
    }),
  );
}

function placeholder(name) {
  if (name === 'DATABASE_URL' || name === 'DATABASE_DIRECT_URL')
    return 'postgresql://someone:unknown@postgres:5432/darkroom';
  if (name === 'REDIS_URL') return 'redis://redis:6379/0';
  return 'q7Xw2LmZ9pRt4VbN8sKd3HfJ6yGc1TzQ5uEa';
}

/** All pod settings that break one of our rules, one sentence each. */
export function podProblems(documents, facts) {
  return podsOf(documents).flatMap(({ owner, spec }) => {
    const problems = [
      ...restrictions(spec, facts),
      ...spec.containers.flatMap((one) => containerProblems(one, spec, facts)),
    ];
    return problems.map((problem) => `${owner.kind} ${owner.metadata.name}: ${problem}`);
  });
}

/** The Pod Security Standard "restricted", and a read-only root. A cluster that chooses users itself refuses fixed ones. */
function restrictions(spec, { choosesUsers }) {
  const problems = [];
  const { securityContext: pod = {} } = spec;
  if (pod.runAsNonRoot !== true || pod.runAsUser !== (choosesUsers ? undefined : 1000))
    problems.push(`it must run as ${choosesUsers ? 'no fixed user' : 'user 1000'}, and never as root`);
  if (choosesUsers && (pod.runAsGroup !== undefined || pod.fsGroup !== undefined))
    problems.push('the cluster chooses its groups');
  if (pod.seccompProfile?.type !== 'RuntimeDefault') problems.push('the seccomp profile must be RuntimeDefault');
  if (spec.automountServiceAccountToken !== false) problems.push('no process of ours needs a token of Kubernetes');
  if (spec.enableServiceLinks !== false)
    problems.push('variables of Services look like settings: enableServiceLinks: false');
  for (const key of ['hostNetwork', 'hostPID', 'hostIPC'])
    if (spec[key] !== undefined) problems.push(`${key} opens the pod to its node`);
  for (const volume of spec.volumes ?? [])
    if (volume.hostPath !== undefined) problems.push(`the volume ${volume.name} is a folder of the node`);
  for (const { securityContext: own = {} } of spec.containers) {
    if (own.readOnlyRootFilesystem !== true) problems.push('the root file system must be read-only');
    if (own.allowPrivilegeEscalation !== false) problems.push('allowPrivilegeEscalation must be false');
    if (!(own.capabilities?.drop ?? []).includes('ALL') || own.capabilities.add !== undefined)
      problems.push('all capabilities must be dropped and none added');
  }
  return problems;
}

function containerProblems(container, spec, facts) {
  const [role] = container.args ?? [];
  const problems = [...imageProblems(container), ...environmentProblems(container, role, facts)];
  if (container.command !== undefined || !ROLES.includes(role))
    problems.push(`args must name a role of the image's own command: ${ROLES.join(', ')}`);
  const { requests = {}, limits = {} } = container.resources ?? {};
  if (requests.cpu === undefined || requests.memory === undefined || limits.memory === undefined)
    problems.push('it needs requests of CPU and memory, and a limit of memory');
  for (const { name } of container.volumeMounts ?? [])
    if (!(spec.volumes ?? []).some((volume) => volume.name === name)) problems.push(`the volume ${name} is not there`);
  if (SERVERS.includes(role))
    problems.push(...probeProblems(container, role, facts), ...endProblems(container, spec, facts));
  return problems;
}

function imageProblems({ image }) {
  const fits = /[^/]:[\w][\w.-]*$|@sha256:[0-9a-f]{64}$/.test(image) && !image.endsWith(':latest');
  return fits ? [] : [`the image ${image} is not pinned to a version`];
}

function environmentProblems(container, role, { settings, refusals }) {
  const problems = [];
  const seen = new Set();
  for (const { name, value, valueFrom } of container.env ?? []) {
    if (seen.has(name)) problems.push(`${name} is given twice`);
    seen.add(name);
    if (!settings.has(name)) problems.push(`${name} is no setting of ours`);
    if (SECRET_NAME.test(name) && !NO_SECRETS.has(name) && valueFrom?.secretKeyRef === undefined)
      problems.push(`${name} must come from a Secret`);
    if (/^[a-z0-9+]+:\/\/[^/]*:[^/]*@/i.test(value ?? '')) problems.push(`${name} holds a password`);
  }
  if (seen.has('DATABASE_POOLER') && COMMANDED.includes(role) && !seen.has('DATABASE_DIRECT_URL'))
    problems.push('behind a pooler, commands need DATABASE_DIRECT_URL');
  return [...problems, ...refusals(role, environmentOf(container))];
}

function probeProblems(container, role, { paths }) {
  const problems = [];
  const ports = new Set((container.ports ?? []).map(({ name }) => name));
  const wanted = { startupProbe: '/healthz', livenessProbe: '/healthz', readinessProbe: '/readyz' };
  for (const [probe, path] of Object.entries(wanted)) {
    const { httpGet } = container[probe] ?? {};
    if (httpGet?.path !== path) problems.push(`${probe} must ask ${path}`);
    else if (!paths[role].has(path)) problems.push(`${path} is not there to be asked`);
    if (httpGet !== undefined && !ports.has(httpGet.port)) problems.push(`the port of ${probe} is not named`);
  }
  const environment = environmentOf(container);
  const port = (name) => String((container.ports ?? []).find((one) => one.name === name)?.containerPort);
  const listens = role === 'api' ? { http: 'PORT' } : { health: 'WORKER_HEALTH_PORT' };
  if (ports.has('metrics')) listens.metrics = 'METRICS_PORT';
  for (const [name, setting] of Object.entries(listens))
    if (port(name) !== environment[setting]) problems.push(`the port ${name} must be ${setting}`);
  const hosts = [role === 'api' ? 'HOST' : 'WORKER_HEALTH_HOST', ...(ports.has('metrics') ? ['METRICS_HOST'] : [])];
  for (const host of hosts)
    if (!EVERYWHERE.includes(environment[host]))
      problems.push(`probes and scrapes come from outside the container: ${host} must be ${EVERYWHERE.join(' or ')}`);
  return problems;
}

/** A stopping pod finishes its work instead of cutting it off. */
function endProblems(container, spec, { longestCallMs, longestChatMs }) {
  const environment = environmentOf(container);
  const grace = Number(environment.SHUTDOWN_GRACE_MS ?? 0) / 1_000;
  const before = Number(environment.SHUTDOWN_DELAY_MS ?? 0) / 1_000;
  const problems = [];
  if ((spec.terminationGracePeriodSeconds ?? 30) < before + grace + MARGIN_SECONDS)
    problems.push(
      `terminationGracePeriodSeconds must exceed SHUTDOWN_DELAY_MS and SHUTDOWN_GRACE_MS by ${MARGIN_SECONDS} s`,
    );
  if (container.args[0] === 'worker') {
    if (grace * 1_000 < Number(environment.OPENAI_TOTAL_TIMEOUT_MS ?? longestCallMs))
      problems.push('SHUTDOWN_GRACE_MS must reach the longest call to a provider');
  } else {
    if (grace * 1_000 <= Number(environment.SYNC_WAIT_MS)) problems.push('SHUTDOWN_GRACE_MS must exceed SYNC_WAIT_MS');
    if (grace * 1_000 < Number(environment.CHAT_TOTAL_TIMEOUT_MS ?? longestChatMs))
      problems.push('SHUTDOWN_GRACE_MS must reach CHAT_TOTAL_TIMEOUT_MS, or an update cuts off chats');
    // During a preStop sleep, the process does not know that it is stopping, and keeps its connections.
    if (container.lifecycle !== undefined) problems.push('a preStop hook only delays what SHUTDOWN_DELAY_MS is for');
    if (before < 1) problems.push('SHUTDOWN_DELAY_MS is needed: proxies send requests for a while longer');
  }
  return problems;
}
