import { ERROR_KINDS } from '#contract/error-codes.js';
import { defaultNumber } from './compose.mjs';

const BODY_BYTES = 220 * 1024 * 1024;

/** What the load balancer must not do to long, large and paid calls, as far as test/balancer would not find it. */
export function balancerProblems(text, compose) {
  const lines = text.split('\n').map((line) => line.replace(/#.*/, '').trim());
  const problems = [];
  const seconds = (name) => Number(new RegExp(`^timeout ${name} (\\d+)s$`, 'm').exec(lines.join('\n'))?.[1] ?? 0);
  const grace = Number.parseInt(compose.services.balancer?.stop_grace_period ?? '0', 10);
  const syncWaitMs = defaultNumber(compose.services.api?.environment?.SYNC_WAIT_MS);
  for (const name of ['client', 'server'])
    if (!(seconds(name) * 1_000 >= syncWaitMs + 10_000))
      problems.push(`timeout ${name} must exceed SYNC_WAIT_MS by 10 s, or it cuts calls that are being answered`);
  if (grace < seconds('server')) problems.push('the stop_grace_period of the balancer must exceed timeout server');
  const retry = lines.find((line) => line.startsWith('retry-on'));
  if (retry !== 'retry-on conn-failure')
    problems.push('retry-on must be conn-failure alone: anything else may buy an image twice');
  if (!lines.includes('option http-server-close'))
    problems.push('option http-server-close is needed: a kept connection may close under a request');
  if (lines.some((line) => /^option http-buffer-request|^option http-use-htx|^filter compression/.test(line)))
    problems.push('bodies and streams must pass unbuffered');
  const limit = Number(/content-length.* gt (\d+)/.exec(lines.join('\n'))?.[1] ?? 0);
  if (limit < BODY_BYTES) problems.push('bodies of 220 MiB must pass, and larger ones be refused with 413');
  problems.push(...sourceLimitProblems(lines.join('\n')), ...ownAnswerProblems(lines));
  return [...problems, ...instanceProblems(lines), ...networkProblems(compose)];
}

/** Instances are found by name, however many there are; one late health check does not remove an instance. */
function instanceProblems(lines) {
  const problems = [];
  const checks = lines.filter((line) => line.startsWith('option httpchk'));
  if (checks.length === 0 || checks.some((line) => line !== 'option httpchk GET /readyz'))
    problems.push('instances must be checked by /readyz');
  for (const line of lines.filter((one) => one.startsWith('default-server')))
    if (!(Number(/ fall (\d+)/.exec(line)?.[1]) >= 2))
      problems.push('fall must be 2 at least: one late probe is no failure');
  const templates = lines.filter((line) => line.startsWith('server-template'));
  if (
    templates.length === 0 ||
    templates.some((line) => !(Number(/^server-template \w+ (\d+) /.exec(line)?.[1]) >= 100))
  )
    problems.push('server-template must have room for 100 instances');
  const binds = lines.filter((line) => line.startsWith('bind '));
  if (binds.some((line) => !/^bind "\$\{BALANCER_ADDRESS\}:\d+" v4v6$/.test(line)))
    problems.push('every bind must take IPv6 and IPv4');
  return problems;
}

/** A scraper reaches the metrics, and nobody else does. */
function networkProblems(compose) {
  const problems = [];
  const { ports = [], networks = [] } = compose.services.balancer ?? {};
  if (ports.some((port) => !String(port).endsWith(':8080'))) problems.push('only port 8080 is published');
  if (!networks.includes('back')) problems.push('a scraper on the network back must reach the exporter');
  return problems;
}

/** On by default. */
function sourceLimitProblems(text) {
  const problems = [];
  for (const [name, fetch] of [
    ['a source', 'sc0_conn_cur'],
    ['a network', 'sc1_conn_cur'],
  ]) {
    const rule = new RegExp(`^tcp-request session reject if crowded \\{ ${fetch},mul\\(\\d+\\) gt `, 'm');
    if (!rule.test(text)) problems.push(`when few connections are left, ${name} that has many must get no more`);
  }
  const headSeconds = Number(/^timeout http-request (\d+)s$/m.exec(text)?.[1] ?? Infinity);
  if (headSeconds > 10) problems.push('timeout http-request must be 10 s at most: a half-sent head holds a connection');
  for (const name of ['SOURCE_CONNECTIONS', 'SOURCE_REQUESTS', 'NETWORK_CONNECTIONS'])
    if (!new RegExp(`^presetenv ${name} [1-9]\\d*$`, 'm').test(text)) problems.push(`${name} needs a default above 0`);
  const answer =
    /^http-request return status 429 .*"rate_limit_error".* if \{ sc1_conn_cur gt .*$/m.exec(text)?.[0] ?? '';
  if (!/ hdr Retry-After \d+ hdr x-should-retry true /.test(answer))
    problems.push("who exceeds NETWORK_CONNECTIONS must be told by a 429 of the API's shape when to come back");
  return problems;
}

/** The balancer responds in the API's format, so that SDKs retry. test/balancer gets its 400 and its 503. */
function ownAnswerProblems(lines) {
  const answer = /^http-error status (\d+) content-type "application\/json" string '(.*)'(.*)$/gm;
  const answers = new Map([...lines.join('\n').matchAll(answer)].map(([, status, ...rest]) => [status, rest]));
  return ['408', '502', '504'].flatMap((status) => {
    const [body = '', headers = ''] = answers.get(status) ?? [];
    const problems = [];
    if (!isErrorBody(body)) problems.push(`its own ${status} must have the API's error body, or SDKs can't read it`);
    if (status.startsWith('5') && !/ hdr x-should-retry true( |$)/.test(headers))
      problems.push(`its own ${status} must carry x-should-retry: true`);
    return problems;
  });
}

/** The type matches the code, as in the API's own errors. */
function isErrorBody(text) {
  try {
    const { type, error } = JSON.parse(text);
    const isKnown = Object.hasOwn(ERROR_KINDS, error.code) && ERROR_KINDS[error.code].type === error.type;
    return type === 'error' && isKnown && typeof error.message === 'string' && error.param === null;
  } catch {
    return false;
  }
}

/** All that the superuser of Postgres does for us. */
const POSTGRES_SETUP = [
  'ALTER ROLE postgres PASSWORD NULL;',
  '\\getenv password POSTGRES_PASSWORD',
  "CREATE ROLE darkroom LOGIN PASSWORD :'password';",
  'CREATE DATABASE darkroom OWNER darkroom;',
];

/** Our role must not be a superuser, and a superuser must not be reachable. */
export function postgresProblems(text, compose) {
  const { environment = {}, volumes = [] } = compose.services.postgres ?? {};
  const problems = Object.keys(environment)
    .filter((name) => name !== 'POSTGRES_PASSWORD')
    .map((name) => `${name} must not be set: our role or everybody might become the superuser`);
  if (!volumes.includes('./deploy/postgres.sql:/docker-entrypoint-initdb.d/darkroom.sql:ro'))
    problems.push('the image must run it on an empty volume');
  const statements = text.split('\n').filter((line) => line !== '' && !line.startsWith('--'));
  if (statements.join('\n') !== POSTGRES_SETUP.join('\n'))
    problems.push(`its statements must be: ${POSTGRES_SETUP.join(' ')}`);
  return problems;
}

/**
 * The queue must not evict keys, or be killed while it is being saved; `rights`: the only ones of the user that our
 * processes are.
 */
export function redisProblems(text, compose, rights) {
  const lines = text.split('\n');
  const problems = lines.some((line) => /^(requirepass|masterauth|user) /.test(line))
    ? ['a password stands in it']
    : [];
  const start = [compose.services.redis?.command].flat().join(' ');
  if (!start.includes(`echo "user default on >$$REDIS_PASSWORD ${rights}" > /tmp/password.conf;`))
    problems.push('its user must have the rights of docs/operations.md, "A Redis user of its own", and no others');
  const limit = bytes(compose.services.redis?.deploy?.resources?.limits?.memory);
  const used = bytes(lines.map((line) => /^maxmemory (\w+)$/.exec(line)?.[1]).find(Boolean));
  if (!(used > 0 && used <= limit / 2))
    problems.push(
      "maxmemory must be at most half of the container's memory: a rewrite of the append-only file may copy all of it",
    );
  return [
    ...problems,
    ...['maxmemory-policy noeviction', 'appendonly yes', 'appendfsync everysec', 'include /tmp/password.conf']
      .filter((line) => !lines.includes(line))
      .map((line) => `it lacks: ${line}`),
  ];
}

/** A size such as 512mb or 1g in bytes; NaN if invalid. */
function bytes(size) {
  const [, number, unit] = /^(\d+)([kmg]?)b?$/.exec(size ?? '') ?? [];
  return Number(number) * 1024 ** ['', 'k', 'm', 'g'].indexOf(unit);
}

/** The variables that the compose file requires. */
function requiredIn(compose) {
  return new Set([...compose.matchAll(/(?<!\$)\$\{([A-Z0-9_]+):\?/g)].map(([, name]) => name));
}

/** The example names exactly the variables that the compose file reads, and no secret has a value. */
export function environmentProblems(text, compose) {
  const entries = new Map(
    text
      .split('\n')
      .filter((line) => /^[A-Z0-9_]+=/.test(line))
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  );
  const required = requiredIn(compose);
  const referenced = new Set([...compose.matchAll(/(?<!\$)\$\{([A-Z0-9_]+)/g)].map(([, name]) => name));
  return [
    ...[...required].filter((name) => !entries.has(name)).map((name) => `${name} is needed and not listed`),
    ...[...entries.keys()].filter((name) => !referenced.has(name)).map((name) => `${name} is read by nobody`),
    ...[...entries]
      .filter(([name, value]) => required.has(name) && value !== '')
      .map(([name]) => `${name} is a secret and must be empty here`),
  ];
}
