import { setTimeout as delay } from 'node:timers/promises';

interface WaitOptions {
  /** Time limit, in ms. */
  readonly timeoutMs: number;
  /** Milliseconds between checks; by default a quarter of the time waited so far, from 10 to 100. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Checks until the condition holds; returns false after the time limit. Throws the condition's error, or the signal's
 * reason.
 */
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
    // Frequent checks would slow down what is waited for.
    await delay(everyMs ?? Math.min(Math.max(waited / 4, 10), 100));
  }
}
