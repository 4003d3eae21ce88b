import { setTimeout as delay } from 'node:timers/promises';

interface WaitOptions {
  /** Milliseconds until it gives up. */
  readonly timeoutMs: number;
  /** Milliseconds between two looks. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Looks again and again until the condition holds; false when the time is over. Throws what the condition throws, or the signal's reason. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  { timeoutMs, everyMs = 25, signal }: WaitOptions,
): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    if (await condition()) return true;
    if (performance.now() >= end) return false;
    await delay(everyMs);
  }
}
