import { setTimeout as delay } from 'node:timers/promises';

interface WaitOptions {
  /** Milliseconds until it gives up. */
  readonly timeoutMs: number;
  /** Milliseconds between two looks; without it a quarter of what it has waited for, 10 at least and 100 at most. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Looks again and again until the condition holds; false when the time is over. Throws what the condition throws, or the signal's reason. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  { timeoutMs, everyMs, signal }: WaitOptions,
): Promise<boolean> {
  const start = performance.now();
  for (;;) {
    signal?.throwIfAborted();
    if (await condition()) return true;
    const waited = performance.now() - start;
    if (waited >= timeoutMs) return false;
    // Looks cost whoever answers them, and slow down what is waited for.
    await delay(everyMs ?? Math.min(Math.max(waited / 4, 10), 100));
  }
}
