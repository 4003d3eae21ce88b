export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** How long startup may continue after a stop signal, in ms. */
const STARTUP_GRACE_MS = 2_000;

/**
 * Receives stop signals until Nest does, from now on instead of bin/darkroom.mjs. In a container the process has PID 1,
 * for which Linux ignores signals without a handler, so it would run until it is killed. Call the returned function once
 * the shutdown hooks are in place: it passes a received signal on to them. A process that is not ready within
 * STARTUP_GRACE_MS has no work to lose, and exits with code 0.
 */
export function deferStopSignals(): () => void {
  let received: NodeJS.Signals | undefined;
  let timer: NodeJS.Timeout | undefined;
  const receive = (signal: NodeJS.Signals): void => {
    received = signal;
    timer ??= setTimeout(() => process.exit(0), STARTUP_GRACE_MS);
  };
  for (const signal of STOP_SIGNALS) replaceListeners(signal, receive);
  return () => {
    clearTimeout(timer);
    for (const signal of STOP_SIGNALS) process.off(signal, receive);
    if (received !== undefined) process.kill(process.pid, received);
  };
}

/** Adds the listener before it removes the others: without any, a signal that has just arrived would be lost. */
export function replaceListeners(signal: NodeJS.Signals, listener: NodeJS.SignalsListener): void {
  const earlier = process.listeners(signal);
  process.on(signal, listener);
  for (const other of earlier) process.off(signal, other);
}
