import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { ConfigError, loadConfig, reportSettings, unknownText } from '#config/load-config.js';
import { settingsOf } from '#config/setting.js';
import { DatabaseConfig } from '#database/database.config.js';
import { MIGRATIONS, pendingMigrations } from '#database/migrate.js';
import type { PrismaService } from '#database/prisma.service.js';
import { isLoopback } from '#accounts/loopback.js';
import { OpenIdProvider, type OpenIdRefusal } from '#accounts/openid-provider.js';
import { CatalogConfig } from '#catalog/catalog.config.js';
import { readCatalog } from '#catalog/catalog-source.js';
import { endingModels, endingText } from '#catalog/ending-models.js';
import { SignInConfig } from '#accounts/accounts.config.js';
import { NO_CLUSTER, QueueHealth } from '#queue/queue-health.js';
import type { GatheringRedis } from '#redis/gathering-redis.js';
import { RedisConfig } from '#redis/redis.config.js';
import { createObjectStore, missingS3Rights } from '#storage/create-object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { DataFolder } from '../platform/data-folder.js';
import { catalogInForce } from './catalog-in-force.js';
import { clockSkew } from './clock-skew.js';
import {
  connectionBudget,
  databaseDurability,
  databaseWrites,
  plannedConnections,
  poolerSession,
  postgresHosts,
} from './database-checks.js';
import { workerGrace } from './grace-check.js';
import { guardrailAnswer } from './guardrail-check.js';
import { Inconclusive } from './inconclusive.js';
import { mailServer } from './mail-check.js';
import type { PlanOptions } from './plan-options.js';
import { secretRotation } from './secret-check.js';
import { checkSettings } from './settings-check.js';
import { commandLine } from './terminal-command.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
import { findRunning, notRunning, reasonOf, withDatabase, withRedis, type Running } from '../platform/running.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns a finding; throws the problem, or Inconclusive. */
type Check = readonly [name: string, run: () => Promise<string> | string, timeoutMs?: number];

const NOT_PRODUCTION =
  'NODE_ENV is not production: whoever has a key can steer the sandbox by directives in prompts (docs/sandbox.md)';
const RELATIVE_FOLDER = 'DATA_DIR is relative: processes share their images only if all are started in the same folder';
const TIMEOUT_MS = 15_000;
/** For what starts a process of each role, which has a time limit of its own, or loads the adapters of all providers. */
const LONG_TIMEOUT_MS = 45_000;

/** Checks the installation and the planned processes, one line per check; true when nothing failed. */
export async function doctor(env: Environment, say: (line: string) => void, plan: PlanOptions = {}): Promise<boolean> {
  const config = usableConfig(env);
  const running = findRunning(config);
  const checks: Check[] = [
    ['node version', nodeVersion],
    ['settings', () => settings(env, say), LONG_TIMEOUT_MS],
    ...possible('darkroom', () => checksOf(env, config, running, plan)),
    ...signInChecks(env),
    ...mailChecks(env),
    ...guardrailChecks(env),
  ];
  let well = true;
  for (const [name, run, timeoutMs] of checks) {
    try {
      say(`ok    ${name.padEnd(18)}  ${await withDeadline(run, timeoutMs)}`);
    } catch (error) {
      const isInconclusive = error instanceof Inconclusive;
      well &&= isInconclusive;
      say(`${isInconclusive ? 'warn' : 'fail'}  ${name.padEnd(18)}  ${reasonOf(error).replaceAll('\n', ' ')}`);
    }
  }
  return well;
}

/** The settings that can be used: 'settings' fails for the others, and the rest can be checked nevertheless. */
function usableConfig(env: Environment): StandaloneConfig {
  const usable = settingsOf(StandaloneConfig).flatMap(({ env: name }) => {
    const one = { [name]: env[name] };
    return reportSettings([StandaloneConfig], one).problems.length === 0 ? [one] : [];
  });
  return loadConfig([StandaloneConfig], Object.assign({}, ...usable) as Environment)[0];
}

/** The checks, or one that fails with the reason why they can't be made. */
function possible(name: string, checks: () => Check[]): Check[] {
  try {
    return checks();
  } catch (error) {
    return [
      [
        name,
        () => {
          throw error;
        },
      ],
    ];
  }
}

function checksOf(env: Environment, config: StandaloneConfig, running: Running, plan: PlanOptions): Check[] {
  if ((running.databaseUrl ?? running.redisUrl ?? running.url) === undefined) return nothingToCheck(config);
  return [
    ['secrets', () => secrets(env, config, running)],
    ...postgresChecks(config, running),
    ...poolChecks(env, running, plan),
    ...possible('secret rotation', () => secretChecks(config, running)),
    ...possible('redis', () => redisChecks(env, config, running)),
    ['storage', () => storage(env, config)],
    ['models', () => models(env, config, running)],
    ...graceChecks(env, config, running),
    ['public url', () => publicUrl(config, running)],
  ];
}

/** One line instead of one per check when no address is known. */
function nothingToCheck(config: StandaloneConfig): Check[] {
  const problem = notRunning(config, 'DATABASE_URL, REDIS_URL, and PUBLIC_URL');
  return [['darkroom', () => Promise.reject(new Error(problem))]];
}

function nodeVersion(): string {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fits = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;
  if (!fits) throw new Error(`${process.versions.node}; 20.19 or later, or 22.12 or later is needed`);
  return process.versions.node;
}

/** Warns of probable typos, which another program may use, and of what a deployment should not be without. */
async function settings(env: Environment, say: (line: string) => void): Promise<string> {
  const { problems: ofRoles, unknown } = await checkSettings(env);
  const problems = [...new Set([...ofRoles, ...reportSettings([StandaloneConfig], env).problems])];
  for (const warning of [...unknown.map(unknownText), ...(isDeployment(env) ? deploymentWarnings(env) : [])])
    say(`warn  ${'settings'.padEnd(18)}  ${warning}`);
  if (problems.length > 0) throw new ConfigError(problems);
  return 'can be used';
}

/** `darkroom start` brings its own Postgres. */
function isDeployment(env: Environment): boolean {
  return env['DATABASE_URL'] !== undefined;
}

function deploymentWarnings(env: Environment): string[] {
  return [
    ...(env['NODE_ENV'] === 'production' ? [] : [NOT_PRODUCTION]),
    ...(env['STORAGE'] === 's3' || isAbsolute(env['DATA_DIR'] ?? '') ? [] : [RELATIVE_FOLDER]),
  ];
}

function secrets({ SECRET_KEY }: Environment, config: StandaloneConfig, running: Running): string {
  if (loadConfig([StandaloneConfig], { SECRET_KEY })[0].secretKey !== undefined) return 'SECRET_KEY is set';
  const { secretKey } = running;
  const file = new DataFolder(config.dataDir).secrets;
  if (secretKey === undefined) throw new Error(`${file} is missing and SECRET_KEY is not set`);
  const mode = statSync(file).mode & 0o777;
  if ((mode & 0o077) !== 0) throw new Error(`${file} can be read by others (mode ${mode.toString(8)}); chmod 600 it`);
  return file;
}

function postgresChecks(config: StandaloneConfig, { databaseUrl }: Running): Check[] {
  const ask = async (work: (database: PrismaService) => Promise<string>): Promise<string> => {
    if (databaseUrl === undefined) throw new Error(notRunning(config, 'DATABASE_URL'));
    return await withDatabase(databaseUrl, work);
  };
  return [
    [
      'postgres',
      () =>
        ask(async (database) => {
          const { rows } = await database.pool.query<{ server_version: string }>('SHOW server_version');
          return `version ${rows[0]?.server_version ?? 'unknown'}${await postgresHosts(database)}`;
        }),
    ],
    [
      'database schema',
      () =>
        ask(async ({ pool }) => {
          const pending = await pendingMigrations(pool, MIGRATIONS);
          if (pending.length > 0)
            throw new Error(`not migrated: ${pending.join(', ')}; run \`${commandLine('migrate', 'db:migrate')}\``);
          return 'up to date';
        }),
    ],
    ['postgres writes', () => ask(({ pool }) => databaseWrites(pool))],
    ['postgres fsync', () => ask(({ pool }) => databaseDurability(pool))],
    [
      'postgres clock',
      () =>
        ask(({ pool }) =>
          clockSkew(async () => {
            const result = await pool.query<{ ms: number }>(
              'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
            );
            return result.rows[0]?.ms ?? NaN;
          }),
        ),
    ],
  ];
}

function secretChecks({ secretKeyPrevious }: StandaloneConfig, { databaseUrl, secretKey }: Running): Check[] {
  if (databaseUrl === undefined || secretKey === undefined) return [];
  const look = (database: PrismaService): Promise<string> => secretRotation(database, { secretKey, secretKeyPrevious });
  return [['secret rotation', () => withDatabase(databaseUrl, look)]];
}

function poolChecks(env: Environment, { databaseUrl }: Running, plan: PlanOptions): Check[] {
  if (databaseUrl === undefined) return [];
  const config = (): DatabaseConfig => loadConfig([DatabaseConfig], { DATABASE_URL: databaseUrl, ...env })[0];
  const pooler = Boolean(env['DATABASE_POOLER']);
  const budget = (): Promise<string> =>
    withDatabase(databaseUrl, ({ pool }) => connectionBudget(pool, config().databasePool));
  const planned = (): Promise<string> => {
    const { apis = 0, workers = 0, workerPool = config().databasePool } = plan;
    const processes = { apis, workers, workerPool, apiPool: config().databasePool };
    return withDatabase(databaseUrl, ({ pool }) => plannedConnections(pool, processes, pooler));
  };
  return [
    // Behind a pooler, Postgres sees the pooler's connections instead of the processes'.
    pooler ? ['postgres pooler', () => poolerSession(config())] : ['postgres pools', budget],
    ...(Object.keys(plan).length === 0 ? [] : [['planned pools', planned] as const]),
  ];
}

/** No checks when the grace time follows the catalog. */
function graceChecks(env: Environment, config: StandaloneConfig, { databaseUrl }: Running): Check[] {
  const { shutdownGraceMs } = config;
  if (shutdownGraceMs === undefined || databaseUrl === undefined) return [];
  return [
    [
      'worker grace',
      () => withDatabase(databaseUrl, (database) => workerGrace(shutdownGraceMs, config, env, database)),
      LONG_TIMEOUT_MS,
    ],
  ];
}

function redisChecks(env: Environment, config: StandaloneConfig, { redisUrl }: Running): Check[] {
  const ask = async <T>(work: (redis: GatheringRedis, server: RedisConfig) => Promise<T>): Promise<T> => {
    if (redisUrl === undefined) throw new Error(notRunning(config, 'REDIS_URL'));
    const [server] = loadConfig([RedisConfig], { ...env, REDIS_URL: redisUrl });
    return await withRedis(server, (redis) => work(redis, server));
  };
  const info = async (section: string, name: string): Promise<string> =>
    await ask(async (redis) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(await redis.info(section))?.[1] ?? 'unknown');
  return [
    ['redis', async () => `version ${await info('server', 'redis_version')}`],
    [
      'redis mode',
      async () => {
        if ((await info('cluster', 'cluster_enabled')) === '1') throw new Error(NO_CLUSTER);
        return await ask((redis) => Promise.resolve(`not a cluster; database ${redis.options.db ?? 0}`));
      },
    ],
    [
      'redis eviction',
      async () => {
        const policy = await info('memory', 'maxmemory_policy');
        if (policy !== 'noeviction')
          throw new Error(`maxmemory-policy is ${policy}; set it to noeviction, or jobs get lost`);
        return policy;
      },
    ],
    [
      'redis rights',
      async () => {
        await ask((redis, server) => new QueueHealth(redis, server).tryWrite()).catch((error: unknown) => {
          const reason = reasonOf(error);
          const hint = reason.includes('NOPERM') ? '; allow the user the keys and channels of REDIS_PREFIX' : '';
          throw new Error(`${reason}${hint}`);
        });
        return 'keys and channels of REDIS_PREFIX can be used';
      },
    ],
    [
      'redis persistence',
      async () => {
        if ((await info('persistence', 'aof_enabled')) !== '1')
          throw new Error('the append-only file is off; set appendonly yes');
        return 'append-only file is on';
      },
    ],
    [
      'redis clock',
      async () =>
        await ask((redis) =>
          clockSkew(async () => {
            const [seconds, micros] = await redis.time();
            return Number(seconds) * 1_000 + Number(micros) / 1_000;
          }),
        ),
    ],
  ];
}

async function storage(env: Environment, { dataDir }: StandaloneConfig): Promise<string> {
  const [config] = loadConfig([StorageConfig], { ...env, DATA_DIR: new DataFolder(dataDir).path });
  if (config.storage === 's3') await requireRights(config);
  await (await createObjectStore(config)).check();
  return config.storage === 's3' ? `bucket ${config.s3Bucket}` : `${config.dataDir}/objects`;
}

/** Throws when the access key can't do what is needed, and Inconclusive when something would be left behind. */
async function requireRights(config: StorageConfig): Promise<void> {
  const { needed, useful } = await missingS3Rights(config);
  const lacks = (rights: readonly string[]): string =>
    `the access key of bucket ${config.s3Bucket} lacks ${rights.join(', ')}`;
  if (needed.length > 0) throw new Error(`${lacks([...needed, ...useful])} (docs/operations.md, S3)`);
  if (useful.length === 0) return;
  await (await createObjectStore(config)).check();
  throw new Inconclusive(`${lacks(useful)}; images work, but nobody finds objects and parts that nothing refers to`);
}

/** Warns of models that end soon, also of the console's, unless the database can't be read: its own check says so. */
async function models(env: Environment, config: StandaloneConfig, running: Running): Promise<string> {
  const { modelsFile, databaseUrl } = running;
  const [file] = loadConfig([CatalogConfig], { ...env, MODELS_FILE: modelsFile });
  const own = readCatalog(file, env);
  const all =
    databaseUrl && (await withDatabase(databaseUrl, (one) => catalogInForce(config, env, one)).catch(() => own));
  const now = new Date();
  const found = `${own.models.size} in ${modelsFile ?? 'the built-in catalog'}`;
  const ending = endingModels(all || own, now).map((model) => endingText(model, now));
  if (ending.length > 0) throw new Inconclusive(`${found}; ${ending.join('; ')}`);
  return found;
}

async function publicUrl(config: StandaloneConfig, { url }: Running): Promise<string> {
  if (url === undefined) throw new Error(notRunning(config, 'PUBLIC_URL'));
  const address = new URL('healthz', url.endsWith('/') ? url : `${url}/`).href;
  const answer = await fetch(address, { signal: AbortSignal.timeout(5_000) }).catch((error: unknown) => {
    // For example with compose, where this command runs in its own container.
    if (config.publicUrl !== undefined && isLoopback(new URL(url).hostname))
      throw new Inconclusive(
        `${address} is on the machine that asks, and nothing answers it here; try it where callers are`,
      );
    throw error;
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`${address} answers with status ${answer.status}`);
  await assertSameUrl(new URL('.', address).href);
  return url;
}

/** What answers there must be this service, which says how it is reached; a proxy may lead only part of a path to it. */
async function assertSameUrl(home: string): Promise<void> {
  const headers = { accept: 'application/json' };
  const answer = await fetch(home, { headers, signal: AbortSignal.timeout(5_000) });
  const told = (await answer.json().catch(() => undefined)) as { name?: unknown; api?: unknown } | undefined;
  if (told?.name !== 'Darkroom')
    throw new Error(`${home} answers, but not as Darkroom: is the path led to it as a whole?`);
  if (told.api !== `${home}v1`)
    throw new Error(`the API at ${home} has another PUBLIC_URL: it names ${String(told.api)}`);
}

/** No checks when there is no OpenID Connect provider. */
function signInChecks(env: Environment): Check[] {
  if ((env['OIDC_ISSUER'] ?? '').trim() === '') return [];
  return [['sign-in provider', () => signInProvider(env)]];
}

async function signInProvider(env: Environment): Promise<string> {
  const [config] = loadConfig([SignInConfig], env);
  const { oidcIssuer = '' } = config;
  await new OpenIdProvider(config, '').discover().catch((error: unknown) => {
    const { code, issuer } = error as OpenIdRefusal;
    if (issuer !== undefined)
      throw new Error(`the provider calls itself ${issuer}, not ${oidcIssuer}: set OIDC_ISSUER=${issuer}`);
    throw new Error(
      `${oidcIssuer} does not answer as an OpenID Connect provider (${code}); OIDC_ISSUER must be the issuer that ` +
        'its /.well-known/openid-configuration names',
    );
  });
  return oidcIssuer;
}

/** No checks when email is off. */
function mailChecks(env: Environment): Check[] {
  if ((env['SMTP_URL'] ?? '').trim() === '') return [];
  return [['email', () => mailServer(env)]];
}

/** No checks when there is no guardrail. */
function guardrailChecks(env: Environment): Check[] {
  if ((env['GUARDRAIL_URL'] ?? '').trim() === '') return [];
  return [['guardrail', () => guardrailAnswer(env)]];
}

async function withDeadline(run: () => Promise<string> | string, timeoutMs = TIMEOUT_MS): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
  });
  try {
    return await Promise.race([run(), late]);
  } catch (error) {
    throw error instanceof ConfigError ? new Error(error.problems.join('; ')) : error;
  } finally {
    clearTimeout(timer);
  }
}
