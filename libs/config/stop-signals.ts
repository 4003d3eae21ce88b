export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** How long startup may continue after a stop signal, in ms. */
const PATIENCE_MS = 2_000;

/**
 * Receives stop signals until Nest does. In a container the process has PID 1, for which Linux ignores signals without
 * a handler, so it would run until it is killed. Call the returned function once the shutdown hooks are in place: it
 * passes a received signal on to them. A process that is not ready within PATIENCE_MS has no work to lose, and exits
 * with code 0.
 */
export function hearStopSignals(): () => void {
  let heard: NodeJS.Signals | undefined;
  let timer: NodeJS.Timeout | undefined;
  const hear = (signal: NodeJS.Signals): void => {
    heard = signal;
    timer ??= setTimeout(() => process.exit(0), PATIENCE_MS);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, hear);
  return () => {
    clearTimeout(timer);
    for (const signal of STOP_SIGNALS) process.off(signal, hear);
    if (heard !== undefined) process.kill(process.pid, heard);
  };
}
