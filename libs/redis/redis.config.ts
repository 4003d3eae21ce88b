import { IsOptional, IsString, Matches, Validate, ValidatorConstraint } from 'class-validator';
import { ReadableFile, Setting, Within } from '#config/setting.js';
import { isRedisUrl } from './redis-address.js';

/** Validates REDIS_URL in the settings of every app. */
@ValidatorConstraint()
export class RedisUrl {
  validate(value: unknown): boolean {
    return typeof value === 'string' && isRedisUrl(value);
  }

  defaultMessage(): string {
    return (
      'REDIS_URL must look like redis://user:password@host:port/database, or rediss:// for TLS, ' +
      'or redis+sentinel://user:password@host:port,host:port/group/database'
    );
  }
}

/** The Redis connection, the prefix of its keys, and its time limit in ms. */
export class RedisConfig {
  @Setting(
    'REDIS_URL',
    'Redis connection, redis://user:password@host:port/database; rediss:// for TLS; ' +
      'redis+sentinel://user:password@host:port,host:port/group/database for Sentinel.',
    { unit: 'URL', secret: true },
  )
  @Validate(RedisUrl)
  readonly redisUrl!: string;

  @Setting('REDIS_CA_FILE', 'CA certificates (PEM) for verifying Redis and its Sentinels; unset = the public CAs.', {
    unit: 'path',
  })
  @IsOptional()
  @ReadableFile()
  readonly redisCaFile?: string;

  @Setting('REDIS_SENTINEL_USERNAME', 'User name for the Sentinels, if they require one.')
  @IsOptional()
  @IsString()
  readonly redisSentinelUsername?: string;

  @Setting(
    'REDIS_SENTINEL_PASSWORD',
    'Password for the Sentinels, if they require one; the Redis password belongs in REDIS_URL.',
    {
      secret: true,
    },
  )
  @IsOptional()
  @IsString()
  readonly redisSentinelPassword?: string;

  @Setting('REDIS_PREFIX', 'Prefix of all Redis keys; the braces keep a queue on one cluster node.')
  @Matches(/^\{[\w-]+\}$/, { message: 'REDIS_PREFIX must be a word in braces, like {darkroom}' })
  readonly redisPrefix: string = '{darkroom}';

  @Setting('REDIS_COMMAND_TIMEOUT_MS', 'Time limit of a Redis command; after that the request is rejected.', {
    unit: 'ms',
  })
  @Within(100, 60_000)
  readonly commandTimeoutMs: number = 2_000;
}
