import type { Logger } from '#telemetry/logger.js';

const BATCH = 1_000;
const DAY_MS = 86_400_000;

/** Since when the oldest row should be gone that is older than this number of days; undefined when there is none. */
export async function dueSince(
  days: number,
  oldestBefore: (time: Date) => Promise<Date | undefined>,
): Promise<Date | undefined> {
  const keptMs = days * DAY_MS;
  const oldest = await oldestBefore(new Date(Date.now() - keptMs));
  return oldest && new Date(oldest.getTime() + keptMs);
}

/** Removes rows older than this number of days, in batches. `what` names them in the log. */
export async function removeExpired(
  logger: Logger,
  what: string,
  days: number,
  removeBefore: (time: Date, limit: number) => Promise<number>,
): Promise<void> {
  const before = new Date(Date.now() - days * DAY_MS);
  let count: number;
  do {
    count = await removeBefore(before, BATCH);
    if (count > 0) logger.info(`retention.${what}_deleted`, { count });
  } while (count >= BATCH);
}
