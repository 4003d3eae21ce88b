import {
  IsOptional,
  IsString,
  Matches,
  Validate,
  ValidatorConstraint,
  type ValidationArguments,
} from 'class-validator';
import { ReadableFile, Setting, Within } from '#config/setting.js';
import { redisUrlProblem } from './redis-address.js';

/** Validates REDIS_URL in the settings of every app. */
@ValidatorConstraint()
export class RedisUrl {
  validate(value: unknown): boolean {
    return typeof value === 'string' && redisUrlProblem(value) === undefined;
  }

  defaultMessage({ value }: ValidationArguments): string {
    return `$property ${typeof value === 'string' ? (redisUrlProblem(value) ?? '') : 'must be given'}`;
  }
}

/** The Redis connection, the prefix of its keys, and its time limit in ms. */
export class RedisConfig {
  @Setting(
    'REDIS_URL',
    'Redis connection, redis://user:password@host:port/database; rediss:// for TLS; ' +
      'redis+sentinel://user:password@host:port,host:port/group/database for Sentinel.',
    { who: 'processes', unit: 'URL', secret: true },
  )
  @Validate(RedisUrl)
  readonly redisUrl!: string;

  @Setting('REDIS_CA_FILE', 'CA certificates (PEM) for verifying Redis and its Sentinels; unset = the public CAs.', {
    who: 'rules',
    unit: 'path',
  })
  @IsOptional()
  @ReadableFile()
  readonly redisCaFile?: string;

  @Setting('REDIS_SENTINEL_USERNAME', 'User name for the Sentinels, if they require one.', { who: 'processes' })
  @IsOptional()
  @IsString()
  readonly redisSentinelUsername?: string;

  @Setting(
    'REDIS_SENTINEL_PASSWORD',
    'Password for the Sentinels, if they require one; the Redis password belongs in REDIS_URL.',
    { who: 'processes', secret: true },
  )
  @IsOptional()
  @IsString()
  readonly redisSentinelPassword?: string;

  @Setting(
    'REDIS_PREFIX',
    'Prefix of all Redis keys and channels; installations that share a database of Redis need one each.',
    { who: 'processes' },
  )
  @Matches(/^\{[\w-]+\}$/, { message: 'REDIS_PREFIX must be a word in braces, like {darkroom}' })
  readonly redisPrefix: string = '{darkroom}';

  @Setting('REDIS_COMMAND_TIMEOUT_MS', 'Time limit of a Redis command; after that the request is rejected.', {
    who: 'debugging',
    unit: 'ms',
  })
  @Within(100, 60_000)
  readonly commandTimeoutMs: number = 2_000;
}
