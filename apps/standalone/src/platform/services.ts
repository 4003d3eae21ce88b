import { startPostgres, type EmbeddedService } from '#embedded/postgres.js';
import { startRedis } from '#embedded/redis.js';
import type { DataFolder } from './data-folder.js';
import type { StandaloneConfig } from './standalone.config.js';
import type { Secrets } from './secrets.js';
import { Supervised } from './supervised.js';

interface ServiceOptions {
  readonly config: StandaloneConfig;
  readonly folder: DataFolder;
  readonly secrets: Secrets;
  readonly onChange: () => void;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Postgres and Redis: embedded, or at the configured addresses. */
export interface Services {
  readonly postgres: Supervised | undefined;
  readonly redis: Supervised | undefined;
  /** Starts the embedded services; returns both addresses. Throws SetupError. */
  start(): Promise<{ databaseUrl: string; redisUrl: string }>;
}

/** Creates an embedded Postgres and Redis, each only when no address is configured. Starts neither. */
export function createServices(options: ServiceOptions): Services {
  const { config, folder, secrets, signal } = options;
  const postgres = new FixedPortService('Postgres', options, (port) =>
    startPostgres({
      folder: folder.service('postgres'),
      password: secrets.databasePassword,
      database: 'darkroom',
      log: folder.log('postgres'),
      port,
      signal,
    }),
  );
  const redis = new FixedPortService('Redis', options, (port) =>
    startRedis({
      folder: folder.service('redis'),
      password: secrets.redisPassword,
      log: folder.log('redis'),
      toolFolders: folder.toolFolders,
      port,
      onDownload: () => options.say('  Fetching Redis ...'),
      signal,
    }),
  );
  return {
    postgres: config.databaseUrl === undefined ? postgres.supervised : undefined,
    redis: config.redisUrl === undefined ? redis.supervised : undefined,
    start: async () => {
      const starts = [
        config.databaseUrl === undefined ? postgres.start() : Promise.resolve(config.databaseUrl),
        config.redisUrl === undefined ? redis.start() : Promise.resolve(config.redisUrl),
      ];
      // Waits for both before a failure is thrown, so that the cleanup sees every process that was started.
      await Promise.allSettled(starts);
      const [databaseUrl = '', redisUrl = ''] = await Promise.all(starts);
      return { databaseUrl, redisUrl };
    },
  };
}

/** An embedded service that keeps its port across restarts, because running processes use its address. */
class FixedPortService {
  readonly supervised: Supervised;
  private service: EmbeddedService | undefined;

  constructor(
    name: 'Postgres' | 'Redis',
    { folder, onChange, say }: ServiceOptions,
    start: (port: number | undefined) => Promise<EmbeddedService>,
  ) {
    this.supervised = new Supervised({
      name,
      log: folder.log(name.toLowerCase()),
      onChange,
      say,
      start: async () => {
        this.service = await start(this.service?.port);
        return this.service;
      },
    });
  }

  async start(): Promise<string> {
    await this.supervised.start();
    return this.service?.url ?? '';
  }
}
