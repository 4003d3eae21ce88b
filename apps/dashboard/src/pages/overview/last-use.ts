import type { ApiKey } from '../../api/types.ts';

/** When any of the keys was last used, as an ISO 8601 time in UTC; null if none was. */
export function lastUse(keys: readonly Pick<ApiKey, 'last_used_at'>[]): string | null {
  const uses = keys.flatMap(({ last_used_at: used }) => used ?? []);
  return uses.sort().at(-1) ?? null;
}
