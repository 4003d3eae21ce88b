import type { Queryable } from '#database/queryable.js';

/** A provider that gets no new calls. */
export interface ProviderSwitch {
  readonly provider: string;
  readonly drainedAt: Date;
  /** Why, in an operator's words. */
  readonly reason: string | null;
}

/** What an operator may say of why a provider is off: 1 to 200 visible characters. */
export const DRAIN_REASON = /^(?:[^\p{C}]|[\u200c\u200d]){1,200}$/u;

/** Switches a provider off for new calls. One that is off already keeps its time, and its reason unless there is a new one. */
export async function drainProvider(database: Queryable, provider: string, reason: string | null): Promise<void> {
  await database.query(
    `INSERT INTO provider_switches (provider, reason) VALUES ($1, $2)
     ON CONFLICT (provider) DO UPDATE SET reason = coalesce(excluded.reason, provider_switches.reason)`,
    [provider, reason],
  );
}

/** Switches a provider on again; false when it was not off. */
export async function resumeProvider(database: Queryable, provider: string): Promise<boolean> {
  const { rowCount } = await database.query('DELETE FROM provider_switches WHERE provider = $1', [provider]);
  return rowCount === 1;
}

/** All that are off. */
export async function listDrained(database: Queryable): Promise<ProviderSwitch[]> {
  const { rows } = await database.query<ProviderSwitch>({
    name: 'drained_providers',
    text: 'SELECT provider, drained_at AS "drainedAt", reason FROM provider_switches ORDER BY provider',
  });
  return rows;
}
