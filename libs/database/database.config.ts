import { IsString, Matches } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

/** The Postgres connection, its pool, and its time limits in ms. */
export class DatabaseConfig {
  @Setting('DATABASE_URL', 'Postgres connection, postgresql://user:password@host:port/database.', {
    unit: 'URL',
    secret: true,
  })
  @IsString()
  @Matches(/^postgres(ql)?:\/\//, { message: 'DATABASE_URL must start with postgresql://' })
  readonly databaseUrl!: string;

  @Setting('DATABASE_POOL', 'Maximum connections of one process; all processes together must fit the server.')
  @Within(1, 100)
  readonly databasePool: number = 10;

  @Setting('DATABASE_CONNECT_TIMEOUT_MS', 'How long a query waits for a connection.', { unit: 'ms' })
  @Within(100)
  readonly connectTimeoutMs: number = 2_000;

  @Setting('DATABASE_QUERY_TIMEOUT_MS', 'Time limit of one query.', { unit: 'ms' })
  @Within(100)
  readonly queryTimeoutMs: number = 5_000;
}
