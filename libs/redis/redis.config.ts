import { IsString, Matches } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

/** The Redis connection, the prefix of its keys, and its time limit in ms. */
export class RedisConfig {
  @Setting('REDIS_URL', 'Redis connection, redis://user:password@host:port/database.', { unit: 'URL', secret: true })
  @IsString()
  @Matches(/^rediss?:\/\//, { message: 'REDIS_URL must start with redis:// or rediss://' })
  readonly redisUrl!: string;

  @Setting('REDIS_PREFIX', 'Prefix of every Redis key; the braces keep one queue on one cluster node.')
  @Matches(/^\{[\w-]+\}$/, { message: 'REDIS_PREFIX must be a word in braces, like {darkroom}' })
  readonly redisPrefix: string = '{darkroom}';

  @Setting('REDIS_COMMAND_TIMEOUT_MS', 'Time limit of a Redis command; then the request is rejected.', {
    unit: 'ms',
  })
  @Within(100, 60_000)
  readonly commandTimeoutMs: number = 2_000;
}
