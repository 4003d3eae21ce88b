import { IsIn, IsOptional, IsString, Matches, MinLength, Validate } from 'class-validator';
import { PublicUrl } from '#config/public-url.js';
import { Setting, Within } from '#config/setting.js';
import { DatabaseUrl } from '#database/database.config.js';
import { RedisUrl } from '#redis/redis.config.js';

/** The settings of the standalone product; all others pass through to its processes. */
export class StandaloneConfig {
  @Setting('PORT', 'Port the API listens on; 0 = any free port.', { who: 'start' })
  @Within(0, 65_535)
  readonly port: number = 3000;

  @Setting('HOST', 'Address the API listens on.', { who: 'start' })
  @IsString()
  readonly host: string = '127.0.0.1';

  @Setting(
    'PUBLIC_URL',
    'Public base URL of the API, used in links; may have a path (https://example.org/images); default http://HOST:PORT.',
    { who: 'start', unit: 'URL' },
  )
  @IsOptional()
  @PublicUrl()
  readonly publicUrl?: string;

  @Setting('DATA_DIR', 'Folder for all persistent data of this machine.', { who: 'start', unit: 'path' })
  @IsString()
  readonly dataDir: string = '.data';

  @Setting('WORKERS', 'Number of worker processes.', { who: 'start' })
  @Within(1, 64)
  readonly workers: number = 1;

  @Setting(
    'WORKER_HEALTH_PORT',
    'Port of the first worker’s /healthz and /readyz; each further worker uses the next port; 0 = none.',
    { who: 'processes' },
  )
  @Within(0, 65_535)
  readonly workerHealthPort: number = 0;

  @Setting('METRICS_PORT', 'Port that serves /metrics, and nothing else; 0 = no metrics.', { who: 'processes' })
  @Within(0, 65_535)
  readonly metricsPort: number = 0;

  @Setting('SHUTDOWN_GRACE_MS', 'Checked by doctor against the longest time limit of the providers.', {
    who: 'processes',
    unit: 'ms',
  })
  @IsOptional()
  @Within(0, 3_630_000)
  readonly shutdownGraceMs?: number;

  @Setting('BOOTSTRAP_API_KEY', 'API key to create at startup if it does not exist.', { who: 'start', secret: true })
  @IsOptional()
  @Matches(/^[\x21-\x7e]{20,200}$/, { message: 'BOOTSTRAP_API_KEY must have 20 to 200 visible characters' })
  readonly bootstrapApiKey?: string;

  @Setting(
    'SECRET_KEY',
    'Key for signing links, hashing API keys, and encrypting secrets; at least 32 random characters, the same for every process.',
    { who: 'processes', secret: true },
  )
  @IsOptional()
  @MinLength(32, { message: 'SECRET_KEY must have at least 32 characters' })
  readonly secretKey?: string;

  @Setting(
    'SECRET_KEY_PREVIOUS',
    'A second SECRET_KEY, the previous one or the next: links, API keys, sessions, and secrets created with it also work.',
    { who: 'processes', secret: true },
  )
  @IsOptional()
  @MinLength(32, { message: 'SECRET_KEY_PREVIOUS must have at least 32 characters' })
  readonly secretKeyPrevious?: string;

  @Setting('DATABASE_URL', 'Postgres server to use instead of the embedded one.', {
    who: 'processes',
    unit: 'URL',
    secret: true,
  })
  @IsOptional()
  @Validate(DatabaseUrl)
  readonly databaseUrl?: string;

  @Setting(
    'DATABASE_DIRECT_URL',
    'Direct connection to Postgres if DATABASE_URL points to a pooler: migrations and commands need sessions of their own.',
    { who: 'processes', unit: 'URL', secret: true },
  )
  @IsOptional()
  @Validate(DatabaseUrl)
  readonly databaseDirectUrl?: string;

  @Setting('DATABASE_POOLER', 'Migrations and commands then need DATABASE_DIRECT_URL.', {
    who: 'processes',
    unit: 'transaction',
  })
  @IsOptional()
  @IsIn(['transaction'])
  readonly databasePooler?: string;

  @Setting('REDIS_URL', 'Redis server to use instead of the embedded one.', {
    who: 'processes',
    unit: 'URL',
    secret: true,
  })
  @IsOptional()
  @Validate(RedisUrl)
  readonly redisUrl?: string;

  @Setting(
    'MODELS_FILE',
    'Catalog of models and providers (docs/providers.md); unset = OpenAI if OPENAI_API_KEY is set, otherwise the sandbox.',
    { who: 'start', unit: 'path' },
  )
  @IsOptional()
  @IsString()
  readonly modelsFile?: string;
}
