import { loadConfig } from '#config/load-config.js';
import { migrate, MIGRATIONS } from '#database/migrate.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
import { requireDatabaseUrl } from '../platform/running.js';

/** `migrate`: applies pending migrations. Throws MigrationError, SetupError or ConfigError. */
export async function migrateDatabase(
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const [config] = loadConfig([StandaloneConfig], env);
  const applied = await migrate(requireDatabaseUrl(config), MIGRATIONS);
  say(applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`);
}
