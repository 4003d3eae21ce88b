import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { timeLimit } from '#egress/time-limit.js';
import { ConfigError, loadConfig, unknownText } from '#config/load-config.js';
import { CatalogConfig } from '#catalog/catalog.config.js';
import { readCatalog } from '#catalog/catalog-source.js';
import { NewKeyRepository } from '#accounts/new-key.repository.js';
import { migrate, MIGRATIONS } from '#database/migrate.js';
import { QueueHealth } from '#queue/queue-health.js';
import { UnsuitableRedis } from '#redis/gathering-redis.js';
import { RedisConfig } from '#redis/redis.config.js';
import { freePort, portIsFree } from '#embedded/free-port.js';
import { SetupError } from '#embedded/setup-error.js';
import { firstAdminLink } from './admin.js';
import { DataFolder } from '../platform/data-folder.js';
import { DataLock } from '../platform/data-lock.js';
import { drawFirstImage } from '../platform/first-image.js';
import { greeting, seconds } from '../platform/greeting.js';
import { LogFiles } from '../platform/log-files.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
import { Product } from '../platform/product.js';
import { ensureSecrets, replaceApiKey, type Secrets } from '../platform/secrets.js';
import { refusePooler, withDatabase, withRedis } from '../platform/running.js';
import { createServices } from '../platform/services.js';
import { checkSettings } from './settings-check.js';
import type { StopSignals } from '../platform/stop-signals.js';

type Environment = Readonly<Record<string, string | undefined>>;

const READY_MS = 60_000;
/** Each log takes at most 50 MB: days of a machine for one, and no disk is too small for it. */
const LOG_BOUNDS = { maxBytes: 10_000_000, older: 4 };

/**
 * Runs the whole product until a stop signal: services, migrations, the API, the workers, a first image. Throws
 * SetupError, MigrationError or ConfigError when it can't, and leaves nothing running.
 */
export async function start(env: Environment, signals: StopSignals, say: (line: string) => void): Promise<void> {
  const since = performance.now();
  const [config] = loadConfig([StandaloneConfig], env);
  const folder = new DataFolder(config.dataDir);
  await folder.prepare();
  const lock = await DataLock.take(folder.lock);
  const port = config.port === 0 ? await freePort() : config.port;
  const logs = new LogFiles(folder.logs, LOG_BOUNDS);
  const product = new Product(config, folder, lock, say);
  try {
    if (!(await portIsFree(port, config.host))) throw portTaken(port, config.host);
    logs.watch();
    let secrets = ensureSecrets(folder.secrets);
    say(`Starting Darkroom; its data is in ${folder.path}`);

    refusePooler(config);
    await refuseSettings(env, config, say, signals.stop);
    const services = createServices({ config, folder, secrets, onChange: product.changed, say, signal: signals.stop });
    product.services = services;
    const addresses = await services.start();
    const database = config.databaseDirectUrl ?? addresses.databaseUrl;
    if (config.redisUrl !== undefined) await refuseRedis(env, config.redisUrl);
    progress(say, since, 'Postgres and Redis are ready');
    const applied = await Promise.race([migrate(database, MIGRATIONS), aborted(signals.stop)]);
    progress(
      say,
      since,
      applied.length === 0
        ? 'Database is up to date'
        : `Database is set up (${applied.length} ${applied.length === 1 ? 'migration' : 'migrations'})`,
    );
    secrets = await ensureKey(database, config, folder, secrets, say);
    signals.stop.throwIfAborted();

    const apiKey = config.bootstrapApiKey ?? secrets.apiKey;
    const secretKey = config.secretKey ?? secrets.secretKey;
    await product.startRoles({ env, port, apiKey, secretKey, ...addresses }, signals);
    await Promise.race([untilReady(product.url, signals.stop), product.firstFailure(), aborted(signals.stop)]);
    progress(say, since, `API and ${config.workers === 1 ? 'a worker' : `${config.workers} workers`} are ready`);
    const image = await Promise.race([
      firstImage(folder.firstImage, signals.stop),
      product.firstFailure(),
      aborted(signals.stop),
    ]);
    product.watch();
    process.on('SIGUSR2', () => void product.restartRoles());
    const adminLink = await linkForFirstAdmin(database, secretKey, config.publicUrl ?? product.url);
    say(
      greeting({
        url: product.url,
        adminLink,
        apiKey,
        image,
        logs: folder.log('*'),
        durationMs: performance.now() - since,
      }),
    );
    await aborted(signals.stop);
  } catch (error) {
    if (!signals.stop.aborted) throw error;
  } finally {
    if (signals.stop.aborted) say('\nStopping ... Waiting for images in progress; press Ctrl-C again to stop now.');
    await product.stop();
    logs.stop();
    lock.release();
  }
  say('Stopped.');
}

function progress(say: (line: string) => void, since: number, line: string): void {
  say(`  ${line} (${seconds(performance.now() - since)})`);
}

/** Checks the settings before anything starts: throws ConfigError and CatalogError, and warns about probable typos. */
async function refuseSettings(
  env: Environment,
  { modelsFile }: StandaloneConfig,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { problems, unknown } = await checkSettings(env, signal);
  for (const setting of unknown) say(`  Warning: ${unknownText(setting)}`);
  if (problems.length > 0) throw new ConfigError(problems);
  const [config] = loadConfig([CatalogConfig], { ...env, MODELS_FILE: modelsFile });
  readCatalog(config, env);
}

/** Throws SetupError for a Redis that would mix up jobs. One that does not answer may do so later. */
async function refuseRedis(env: Environment, redisUrl: string): Promise<void> {
  const [server] = loadConfig([RedisConfig], { ...env, REDIS_URL: redisUrl });
  await withRedis(server, (redis) => new QueueHealth(redis, server).check()).catch((error: unknown) => {
    if (error instanceof UnsuitableRedis) throw new SetupError(error.message);
  });
}

function portTaken(port: number, host: string): SetupError {
  return new SetupError(
    `Port ${port} on ${host} can't be used: something else listens there. ` +
      `Stop it, or choose another port: PORT=${port + 1} npm start`,
  );
}

/** Creates the printed API key in the database. */
async function ensureKey(
  databaseUrl: string,
  config: StandaloneConfig,
  folder: DataFolder,
  secrets: Secrets,
  say: (line: string) => void,
): Promise<Secrets> {
  const secretKey = config.secretKey ?? secrets.secretKey;
  const { secretKeyPrevious, bootstrapApiKey } = config;
  return await withDatabase(databaseUrl, async (database) => {
    const keys = new NewKeyRepository(database, {
      secretKey,
      ...(secretKeyPrevious !== undefined && { secretKeyPrevious }),
    });
    if (bootstrapApiKey !== undefined) {
      const { revoked } = await keys.ensure(bootstrapApiKey, 'bootstrap');
      if (revoked) throw new SetupError('The API key in BOOTSTRAP_API_KEY was revoked; set another one, or none.');
      return secrets;
    }
    const { revoked } = await keys.ensure(secrets.apiKey, 'first key');
    if (!revoked) return secrets;
    say('  The kept API key was revoked; a new one takes its place');
    const replaced = replaceApiKey(folder.secrets, secrets);
    await keys.ensure(replaced.apiKey, 'first key');
    return replaced;
  });
}

/** A new link for the first owner; undefined when there already is an owner. */
async function linkForFirstAdmin(databaseUrl: string, secretKey: string, url: string): Promise<string | undefined> {
  return await withDatabase(databaseUrl, (database) => firstAdminLink(database, secretKey, url));
}

async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  const end = performance.now() + READY_MS;
  for (;;) {
    const answer = await fetch(`${url}/readyz`, {
      signal: timeLimit(5_000, signal),
    }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok === true) return;
    signal.throwIfAborted();
    if (performance.now() >= end)
      throw new SetupError(`The API did not become ready within ${READY_MS / 1000} s; see its log.`);
    await delay(50);
  }
}

/** Generates the image on the first start only, without cost. Returns a failure as text; the product keeps running. */
async function firstImage(file: string, signal: AbortSignal): Promise<string> {
  if (existsSync(file)) return file;
  const since = performance.now();
  try {
    const size = await drawFirstImage(file, signal);
    return `${file} (${size}, made in ${seconds(performance.now() - since)} by the sandbox, free of charge)`;
  } catch (error) {
    signal.throwIfAborted();
    return `could not be generated: ${error instanceof Error ? error.message : 'unknown reason'}`;
  }
}

async function aborted(signal: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  throw signal.reason;
}
