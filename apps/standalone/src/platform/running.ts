import type { PrismaService } from '#database/prisma.service.js';
import { UnsuitableDatabase } from '#database/session.sql.js';
import { SetupError } from '#embedded/setup-error.js';
import { connectRedis, type RedisServer } from '#redis/connect-redis.js';
import type { GatheringRedis } from '#redis/gathering-redis.js';
import { DataFolder, readWhole } from './data-folder.js';
import { openDatabase } from './open-database.js';
import type { StandaloneConfig } from './standalone.config.js';
import { readSecrets } from './secrets.js';

/** What commands other than `start` know about an installation, from the settings or the running product. */
export interface Running {
  /** Postgres itself, never a pooler. */
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly secretKey: string | undefined;
  readonly modelsFile: string | undefined;
  /** Address of the API. */
  readonly url: string | undefined;
}

interface State {
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly url?: string;
  readonly modelsFile?: string;
}

/**
 * Takes values from the settings first, then from the product that runs on DATA_DIR. Reading a value that only the
 * product's file can tell throws SetupError when the file can't be read.
 */
export function findRunning(config: StandaloneConfig): Running {
  const folder = new DataFolder(config.dataDir);
  // Read only when needed: in a deployment, the folder may be another user's.
  const state = (): State | undefined => readWhole(folder.state);
  return {
    get databaseUrl() {
      return config.databaseDirectUrl ?? config.databaseUrl ?? state()?.databaseUrl;
    },
    get redisUrl() {
      return config.redisUrl ?? state()?.redisUrl;
    },
    get secretKey() {
      return config.secretKey ?? readSecrets(folder.secrets)?.secretKey;
    },
    get modelsFile() {
      return config.modelsFile ?? state()?.modelsFile;
    },
    get url() {
      return config.publicUrl ?? state()?.url;
    },
  };
}

/** Advice for when an address is not known. */
export function notRunning(config: StandaloneConfig, setting: string): string {
  return `nothing runs on ${new DataFolder(config.dataDir).path}; start it with \`npm start\`, or set ${setting}`;
}

/** The database's address. Throws SetupError when it is not known. */
export function requireDatabaseUrl(config: StandaloneConfig): string {
  const { databaseUrl } = findRunning(config);
  if (databaseUrl === undefined)
    throw new SetupError(`The database is unknown: ${notRunning(config, 'DATABASE_URL')}.`);
  refusePooler(config);
  return databaseUrl;
}

/** Throws SetupError when only a pooler's address is known: through it, a lock is lost between two statements. */
export function refusePooler({ databasePooler, databaseDirectUrl }: StandaloneConfig): void {
  if (databasePooler !== undefined && databaseDirectUrl === undefined)
    throw new SetupError('DATABASE_URL leads to a pooler; give the address of Postgres itself in DATABASE_DIRECT_URL.');
}

/** Runs work with a database client and closes it. Throws SetupError when the database can't be reached. */
export async function withDatabase<T>(databaseUrl: string, work: (database: PrismaService) => Promise<T>): Promise<T> {
  const database = openDatabase(databaseUrl);
  try {
    await database.ping().catch((error: unknown) => {
      if (error instanceof UnsuitableDatabase) throw new SetupError(`${error.message}.`);
      throw new SetupError(`The database can't be reached: ${reasonOf(error)}`);
    });
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Runs work with a Redis connection and closes it. Throws connection errors and what the work throws. */
export async function withRedis<T>(server: RedisServer, work: (redis: GatheringRedis) => Promise<T>): Promise<T> {
  const redis = connectRedis(server, {
    lazyConnect: true,
    connectTimeout: 5_000,
    commandTimeout: 5_000,
    retryStrategy: () => null,
  });
  let reason: unknown;
  redis.on('error', (error) => (reason = error));
  try {
    await redis.connect();
    return await work(redis);
  } catch (error) {
    throw redis.refusal ?? reason ?? error;
  } finally {
    redis.disconnect();
  }
}

/** An error's message; the first one when there are several, as for a host with two addresses. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return 'unknown reason';
  return error.cause instanceof Error ? `${error.message}: ${reasonOf(error.cause)}` : error.message;
}
