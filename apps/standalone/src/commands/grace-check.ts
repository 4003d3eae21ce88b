import { loadConfig } from '#config/load-config.js';
import type { PrismaService } from '#database/prisma.service.js';
import { adapterProblems, graceProblem, loadAdapters, longestCall } from '#providers/descriptors.js';
import { catalogInForce } from './catalog-in-force.js';
import { Inconclusive } from './inconclusive.js';
import type { StandaloneConfig } from '../platform/standalone.config.js';

/**
 * Whether the workers' grace time covers the longest call of the catalog. Throws Inconclusive when it does not, because
 * these may be the settings of an API. Throws what `catalogInForce` throws.
 */
export async function workerGrace(
  graceMs: number,
  config: StandaloneConfig,
  env: Readonly<Record<string, string | undefined>>,
  database: PrismaService,
): Promise<string> {
  const make = await loadAdapters({
    settings: (of) => loadConfig([of], env)[0],
    fetcher: { get: () => Promise.reject(new Error('nothing is fetched for a check')) },
  });
  // As in a worker, skips console entries that no adapter can be created for.
  const { providers } = await catalogInForce(config, env, database, (catalog) =>
    adapterProblems(catalog.providers.values(), make),
  );
  const longest = longestCall(providers.values(), make);
  const problem = graceProblem(graceMs, longest);
  if (problem !== undefined) throw new Inconclusive(problem);
  if (longest === undefined) return 'no call needs any';
  return `${graceMs} ms; the longest call takes ${longest.ms} ms at most (${longest.provider})`;
}
