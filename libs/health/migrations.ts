import { join } from 'node:path';
import { PACKAGE_ROOT } from '#config/package-root.js';
import { MigrationError, pendingMigrations } from '#database/migrate.js';
import type { Queryable } from '#database/queryable.js';

const FOLDER = join(PACKAGE_ROOT, 'prisma', 'migrations');

/** Throws MigrationError when a migration of this version is not applied, or is being applied; later versions' may be. */
export async function requireMigrations(database: Queryable): Promise<void> {
  const pending = await pendingMigrations(database, FOLDER);
  if (pending.length > 0) throw new MigrationError(`${pending.length} migrations are not applied; run migrate`);
}
