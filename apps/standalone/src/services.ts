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

/** A database and a queue server: ours, or the ones the settings name. */
export interface Services {
  readonly postgres: Supervised | undefined;
  readonly redis: Supervised | undefined;
  /** Starts what is ours; answers with both addresses. Throws SetupError. */
  start(): Promise<{ databaseUrl: string; redisUrl: string }>;
}

/** Postgres and Redis, each only where no address of another one is set; none is started yet. */
export function createServices(options: ServiceOptions): Services {
  const { config, folder, secrets, signal } = options;
  const postgres = new Kept('Postgres', options, (port) =>
    startPostgres({
      folder: folder.service('postgres'),
      password: secrets.databasePassword,
      database: 'darkroom',
      log: folder.log('postgres'),
      port,
      signal,
    }),
  );
  const redis = new Kept('Redis', options, (port) =>
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
      // Both come to an end before a failure is told, so that whoever cleans up sees all that runs.
      await Promise.allSettled(starts);
      const [databaseUrl = '', redisUrl = ''] = await Promise.all(starts);
      return { databaseUrl, redisUrl };
    },
  };
}

/** An embedded service that keeps its address over restarts, because running processes hold it. */
class Kept {
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
