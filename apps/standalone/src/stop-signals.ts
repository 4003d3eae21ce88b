/** Signals within this time are one wish: npm passes on what the terminal has sent to all. */
const SAME_WISH_MS = 2_000;

/** What Ctrl-C, SIGTERM and a closed terminal ask for. */
export interface StopSignals {
  /** Aborts at the first signal. */
  readonly stop: AbortSignal;
  /** Aborts when the user asks again: running work is not waited for any more. */
  readonly hurry: AbortSignal;
}

/** Ctrl-C, SIGTERM and a closed terminal mean stop; none of them ends the process itself. */
export function listenForStop(): StopSignals {
  const stop = new AbortController();
  const hurry = new AbortController();
  let since = Infinity;
  const onSignal = (): void => {
    if (!stop.signal.aborted) {
      since = performance.now();
      stop.abort();
    } else if (performance.now() - since > SAME_WISH_MS) hurry.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Whoever listened before did so for the set-up, which is over.
    process.removeAllListeners(signal);
    process.on(signal, onSignal);
  }
  return { stop: stop.signal, hurry: hurry.signal };
}
