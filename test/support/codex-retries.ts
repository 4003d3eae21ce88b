import { setTimeout as delay } from 'node:timers/promises';

/** Codex's own, for a provider without settings. */
const RETRIES = 4;
const FIRST_DELAY_MS = 200;

/** Retries what Codex retries: transport errors and every 5xx, whatever the headers say. `tries`: statuses, 0 = cut. */
export async function retriedAsByCodex(
  call: () => Promise<Response>,
): Promise<{ readonly response: Response | undefined; readonly tries: readonly number[] }> {
  const tries: number[] = [];
  for (;;) {
    const response = await call().catch(() => undefined);
    tries.push(response?.status ?? 0);
    const isRetried = response === undefined || response.status >= 500;
    if (!isRetried || tries.length > RETRIES) return { response, tries };
    await delay(FIRST_DELAY_MS * 2 ** (tries.length - 1));
  }
}
