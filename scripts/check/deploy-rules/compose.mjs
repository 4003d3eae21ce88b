import Ajv from 'ajv';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseDocument } from 'yaml';
import { requireTool } from '../../build/prepare.mjs';

/** Named like secrets, but public. */
const NO_SECRETS = new Set(['PASSWORD_SIGN_IN']);
/** Secrets of optional features: they may be missing, but must not have a default either. */
const OPTIONAL_SECRETS = new Set(['SECRET_KEY_PREVIOUS', 'OPENAI_API_KEY', 'OIDC_CLIENT_SECRET', 'GUARDRAIL_KEY']);
const EMPTY = /^\$\{[A-Z_]+:-\}$/;
const SECRET_NAME = /PASSWORD|SECRET|TOKEN|PRIVATE|(^|_)KEY(_ID)?$|ACCESS_KEY/;
/** A secret comes from the environment, and its absence prevents the start. */
const REQUIRED = /^\$\{[A-Z0-9_]+:\?[^}]+\}$/;
const ALLOWED_ROOT = { store: 'its image knows no other user' };
const OURS = /^darkroom:/;
const MARGIN_MS = 5_000;

const schemaPackage = requireTool.resolve('dclint/package.json');
const schema = JSON.parse(readFileSync(join(dirname(schemaPackage), 'schemas', 'compose.schema.json'), 'utf8'));
delete schema.$schema;
const isCompose = new Ajv({ allErrors: true, strict: false, logger: false, validateFormats: false }).compile(schema);

/** The file with merged anchors, and where it violates the Compose Specification. */
export function readCompose(text) {
  const parsed = parseDocument(text, { merge: true });
  if (parsed.errors.length > 0) return { problems: parsed.errors.map((error) => error.message.split('\n')[0]) };
  const document = parsed.toJS();
  if (isCompose(document)) return { document, problems: [] };
  const problems = isCompose.errors.map(({ instancePath, message, params }) => {
    const detail = params.additionalProperty ?? params.allowedValues?.join(', ') ?? '';
    return `${instancePath.slice(1).replaceAll('/', '.')} ${message} ${detail}`.trim();
  });
  return { document: document.services === undefined ? undefined : document, problems };
}

/** Everything in the file that breaks one of our rules, one sentence each. */
export function composeProblems(document, { settings, roles, isFile, ...longest }) {
  const services = Object.entries(document.services);
  return [
    ...services.flatMap(([name, service]) =>
      [
        ...hardening(name, service),
        ...liveliness(service),
        ...patience(service, longest),
        ...environment(service, settings),
        ...mounts(service, document.volumes ?? {}, isFile),
        ...neighbors(service, document),
        ...logging(service),
      ].map((problem) => `${name}: ${problem}`),
    ),
    ...builders(document.services),
    ...sharedSettings(document.services, roles),
    ...unused('volume', document.volumes, (service) => (service.volumes ?? []).map((mount) => mount.split(':')[0])),
    ...unused('network', document.networks, (service) => service.networks ?? []),
  ];

  function unused(kind, defined, usedBy) {
    const used = new Set(services.flatMap(([, service]) => usedBy(service)));
    return Object.keys(defined ?? {})
      .filter((name) => !used.has(name))
      .map((name) => `the ${kind} ${name} is used by nobody`);
  }
}

function hardening(name, service) {
  const problems = [];
  const image = service.image ?? '';
  if (!OURS.test(image) && !/:v?\d+\.\d+(\.\d+)?([.-][\w.-]+)?(@sha256:[0-9a-f]{64})?$/.test(image))
    problems.push(`the image ${image} is not pinned to a version`);
  if (service.read_only !== true) problems.push('the root file system must be read_only');
  if (!(service.cap_drop ?? []).includes('ALL')) problems.push('cap_drop must be ALL');
  if (service.cap_add !== undefined) problems.push('no capability may be added');
  if (!(service.security_opt ?? []).includes('no-new-privileges=true'))
    problems.push('security_opt lacks no-new-privileges=true');
  for (const key of ['privileged', 'network_mode', 'pid', 'ipc', 'devices'])
    if (service[key] !== undefined) problems.push(`${key} opens the container to the machine`);
  const isRoot = service.user === undefined || /^(root|0)(:|$)/.test(String(service.user));
  if (isRoot && !(name in ALLOWED_ROOT)) problems.push('user must be given and not be root');
  const limits = service.deploy?.resources?.limits ?? {};
  for (const limit of ['cpus', 'memory', 'pids'])
    if (limits[limit] === undefined) problems.push(`deploy.resources.limits lacks ${limit}`);
  if (service.ports !== undefined && name !== 'balancer') problems.push('only the balancer publishes ports');
  return problems;
}

/** Without a maximum size and count, logs would fill the disk. */
function logging({ logging: log }) {
  const bounded = ['json-file', 'local'].includes(log?.driver) && log.options?.['max-size'] && log.options['max-file'];
  return bounded ? [] : ['its log needs a driver with max-size and max-file, or it fills the disk'];
}

/**
 * Parallel builds of one name fail with "already exists". With another policy, `docker compose run` builds or pulls.
 */
function builders(services) {
  const ours = Object.entries(services).filter(([, { image }]) => OURS.test(image ?? ''));
  const building = ours.filter(([, { build }]) => build !== undefined).map(([name]) => name);
  const problems = [];
  if (building.length !== 1) problems.push(`one service builds our image, not ${building.join(', ') || 'none'}`);
  for (const [name, { pull_policy: policy, depends_on: needs = {} }] of ours) {
    if (policy !== 'never')
      problems.push(`${name}: pull_policy must be never, or commands and restarts build or pull another version`);
    if (!building.includes(name) && !building.some((builder) => builder in needs))
      problems.push(`${name}: it must wait for the service that builds`);
  }
  return problems;
}

/** A setting that both roles read would otherwise have two values. */
function sharedSettings(services, roles) {
  const given = (role) => services[role]?.environment ?? {};
  return [...roles.api]
    .filter((name) => roles.worker.has(name) && given('api')[name] !== given('worker')[name])
    .map((name) => `api and worker both read ${name} and must get the same value`);
}

function liveliness(service) {
  const isOneShot = service.restart === 'no';
  if (isOneShot) return [];
  const problems = [];
  if (service.restart === undefined) problems.push('it needs a restart policy');
  if (service.healthcheck?.test === undefined) problems.push('it needs a healthcheck (or restart: no, if it ends)');
  const grace = milliseconds(service.stop_grace_period);
  const { SHUTDOWN_DELAY_MS: delay = 0, SHUTDOWN_GRACE_MS: finishing = 0 } = service.environment ?? {};
  const ours = Number(delay) + Number(finishing);
  if (grace === undefined) problems.push('it needs a stop_grace_period');
  else if (Number.isNaN(ours))
    problems.push('SHUTDOWN_DELAY_MS and SHUTDOWN_GRACE_MS must be plain numbers, to hold the grace against them');
  else if (grace < ours + MARGIN_MS)
    problems.push(
      `stop_grace_period must exceed SHUTDOWN_DELAY_MS and SHUTDOWN_GRACE_MS by ${MARGIN_MS / 1000} s, or a stop becomes a kill`,
    );
  if (OURS.test(service.image) && service.environment?.SHUTDOWN_GRACE_MS === undefined)
    problems.push('SHUTDOWN_GRACE_MS must be given beside stop_grace_period');
  return problems;
}

/** A worker stopped before its provider's timeout loses a paid image; an API loses a response. */
function patience({ image, command, environment = {} }, { longestCallMs, longestChatMs }) {
  if (!OURS.test(image ?? '')) return [];
  const grace = Number(environment.SHUTDOWN_GRACE_MS);
  const problems = [];
  if (command?.[0] === 'worker' && !(grace >= longestCallMs))
    problems.push(`SHUTDOWN_GRACE_MS must reach the longest time limit of a provider, ${longestCallMs} ms`);
  if (command?.[0] === 'api') {
    if (!(grace > defaultNumber(environment.SYNC_WAIT_MS)))
      problems.push('SHUTDOWN_GRACE_MS must exceed SYNC_WAIT_MS, or an upgrade sends held callers away');
    if (!(grace >= defaultNumber(environment.CHAT_TOTAL_TIMEOUT_MS ?? longestChatMs)))
      problems.push('SHUTDOWN_GRACE_MS must reach CHAT_TOTAL_TIMEOUT_MS, or an upgrade cuts off chats');
  }
  return problems;
}

/** The default of a setting (`${NAME:-number}`), or its fixed value; NaN without one. */
export function defaultNumber(value) {
  return Number(/^\$\{\w+:-(\d+)\}$/.exec(value)?.[1] ?? value);
}

function environment(service, settings) {
  const problems = [];
  for (const [name, value] of Object.entries(service.environment ?? {})) {
    const text = String(value ?? '');
    const isLeftOut = OPTIONAL_SECRETS.has(name) && EMPTY.test(text);
    if (SECRET_NAME.test(name) && !NO_SECRETS.has(name) && !REQUIRED.test(text) && !isLeftOut)
      problems.push(`${name} must come from outside, with no default: \${NAME:?what to do}`);
    const password = /^[a-z0-9+]+:\/\/[^/]*?:(.*)@/i.exec(text)?.[1];
    if (password !== undefined && !REQUIRED.test(password)) problems.push(`${name} holds a password`);
    if (OURS.test(service.image) && !settings.has(name)) problems.push(`${name} is no setting of ours`);
  }
  return problems;
}

function mounts(service, volumes, isFile) {
  return (service.volumes ?? []).flatMap((mount) => {
    const [source, , mode] = mount.split(':');
    if (!source.startsWith('.') && !source.startsWith('/'))
      return source in volumes ? [] : [`the volume ${source} is not defined`];
    if (source.startsWith('/')) return [`${source} is a path of one machine`];
    if (!isFile(source)) return [`the file ${source} does not exist`];
    return mode === 'ro' ? [] : [`${source} must be mounted read-only`];
  });
}

function neighbors(service, { services, networks = {} }) {
  const problems = (service.networks ?? [])
    .filter((network) => !(network in networks))
    .map((network) => `the network ${network} is not defined`);
  if ((service.networks ?? []).length === 0) problems.push('it must name its networks');
  for (const [name, { condition } = {}] of Object.entries(service.depends_on ?? {})) {
    if (services[name] === undefined) {
      problems.push(`it depends on ${name}, which is not there`);
      continue;
    }
    const wanted = services[name].restart === 'no' ? 'service_completed_successfully' : 'service_healthy';
    if (condition !== wanted) problems.push(`it must wait for ${name} with ${wanted}`);
  }
  return problems;
}

function milliseconds(duration) {
  const [, number, unit] = /^(\d+)(ms|s|m)$/.exec(String(duration ?? '')) ?? [];
  return number === undefined ? undefined : Number(number) * { ms: 1, s: 1_000, m: 60_000 }[unit];
}
