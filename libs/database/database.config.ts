import { IsIn, IsOptional, Validate, ValidatorConstraint, type ValidationArguments } from 'class-validator';
import { Setting, Within } from '#config/setting.js';
import { databaseUrlProblem } from './database-url.js';

/** Validates a DATABASE_URL. */
@ValidatorConstraint()
export class DatabaseUrl {
  validate(value: unknown): boolean {
    return typeof value === 'string' && databaseUrlProblem(value) === undefined;
  }

  defaultMessage({ value }: ValidationArguments): string {
    return `$property ${typeof value === 'string' ? (databaseUrlProblem(value) ?? '') : 'must be given'}`;
  }
}

/** The Postgres connection, its pool, and its time limits in ms. */
export class DatabaseConfig {
  @Setting('DATABASE_URL', 'Postgres connection, postgresql://user:password@host:port/database.', {
    who: 'processes',
    unit: 'URL',
    secret: true,
  })
  @Validate(DatabaseUrl)
  readonly databaseUrl!: string;

  @Setting(
    'DATABASE_POOLER',
    'Set to transaction if DATABASE_URL points to PgBouncer in transaction mode; unset = no pooler, or session mode.',
    { who: 'processes', unit: 'transaction' },
  )
  @IsOptional()
  @IsIn(['transaction'])
  readonly databasePooler?: string;

  @Setting(
    'DATABASE_POOL',
    'Maximum connections of one process; all processes together must stay within the server’s max_connections.',
    { who: 'processes' },
  )
  @Within(1, 100)
  readonly databasePool: number = 10;

  @Setting('DATABASE_CONNECT_TIMEOUT_MS', 'Time limit for getting a connection for a query.', {
    who: 'debugging',
    unit: 'ms',
  })
  @Within(100)
  readonly connectTimeoutMs: number = 2_000;

  @Setting(
    'DATABASE_QUERY_TIMEOUT_MS',
    'Time limit of one query; it may wait for a lock for 40 % of it, or 2 s if that is longer.',
    { who: 'debugging', unit: 'ms' },
  )
  @Within(100)
  readonly queryTimeoutMs: number = 5_000;
}
