import { replaceListeners } from '#config/stop-signals.js';

/**
 * Signals this close together count as one, because npm forwards the signal that the terminal sends to every process.
 */
const SAME_SIGNAL_MS = 2_000;

/** Stop requests: Ctrl-C, SIGTERM and a closed terminal. */
export interface StopSignals {
  /** Aborts at the first signal. */
  readonly stop: AbortSignal;
  /** Aborts at a second request: stop without waiting for running work. */
  readonly force: AbortSignal;
}

/** Turns Ctrl-C, SIGTERM and a closed terminal into stop requests, which do not end the process by themselves. */
export function listenForStop(): StopSignals {
  const stop = new AbortController();
  const force = new AbortController();
  let since = Infinity;
  const onSignal = (): void => {
    if (!stop.signal.aborted) {
      since = performance.now();
      stop.abort();
    } else if (performance.now() - since > SAME_SIGNAL_MS) force.abort();
  };
  // Earlier listeners were for the setup, which is over.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) replaceListeners(signal, onSignal);
  return { stop: stop.signal, force: force.signal };
}
