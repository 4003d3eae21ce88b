import { CatalogConfig } from '#catalog/catalog.config.js';
import type { Catalog } from '#catalog/catalog.js';
import { readCatalog } from '#catalog/catalog-source.js';
import { RevisionRepository } from '#catalog/revision.repository.js';
import { loadConfig } from '#config/load-config.js';
import type { PrismaService } from '#database/prisma.service.js';
import { findRunning } from '../platform/running.js';
import type { StandaloneConfig } from '../platform/standalone.config.js';

/**
 * The current catalog: MODELS_FILE from the settings, or else from the running product, plus the console's entries.
 * Throws ConfigError, CatalogError.
 */
export async function catalogInForce(
  config: StandaloneConfig,
  env: Readonly<Record<string, string | undefined>>,
  database: PrismaService,
  adapterProblems?: Parameters<typeof readCatalog>[3],
): Promise<Catalog> {
  const [catalog] = loadConfig([CatalogConfig], { ...env, MODELS_FILE: findRunning(config).modelsFile });
  const added = await new RevisionRepository(database).find();
  return readCatalog(catalog, env, added?.entries, adapterProblems);
}
