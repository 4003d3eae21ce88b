import { IsIn, IsOptional, IsString, Matches, MinLength, Validate } from 'class-validator';
import { CatalogConfig } from '#catalog/catalog.config.js';
import { Setting, SettingOf, Within } from '#config/setting.js';
import { HostSetting, PublicUrlSetting, ShutdownGraceSetting } from '#config/shared-settings.js';
import { DatabaseUrl } from '#database/database.config.js';
import { RedisUrl } from '#redis/redis.config.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { MetricsConfig } from '#telemetry/telemetry.config.js';

/** The settings of the standalone product; all others pass through to its processes. */
export class StandaloneConfig {
  @Setting('PORT', 'Port the API listens on; 0 = any free port.', { who: 'start' })
  @Within(0, 65_535)
  readonly port: number = 3000;

  @HostSetting()
  readonly host: string = '127.0.0.1';

  @IsOptional()
  @PublicUrlSetting()
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

  @SettingOf(MetricsConfig, 'METRICS_PORT')
  @Within(0, 65_535)
  readonly metricsPort: number = 0;

  /** Checked by doctor against the longest time limit of the providers. */
  @IsOptional()
  @ShutdownGraceSetting()
  readonly shutdownGraceMs?: number;

  @Setting('BOOTSTRAP_API_KEY', 'API key to create at startup if it does not exist.', { who: 'start', secret: true })
  @IsOptional()
  @Matches(/^[\x21-\x7e]{20,200}$/, { message: 'BOOTSTRAP_API_KEY must have 20 to 200 visible characters' })
  readonly bootstrapApiKey?: string;

  @SettingOf(SecretsConfig, 'SECRET_KEY')
  @IsOptional()
  @MinLength(32, { message: 'SECRET_KEY must have at least 32 characters' })
  readonly secretKey?: string;

  @SettingOf(SecretsConfig, 'SECRET_KEY_PREVIOUS')
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

  @SettingOf(CatalogConfig, 'MODELS_FILE')
  @IsOptional()
  @IsString()
  readonly modelsFile?: string;
}
