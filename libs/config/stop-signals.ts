export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** How long a process that was told to stop while it starts may go on starting, in ms. */
const PATIENCE_MS = 2_000;

/**
 * Hears what tells the process to stop before Nest does. In a container it is the first process, for which Linux drops a signal
 * that nobody hears, and it would work on until it is killed. What this returns is called once the shutdown hooks are in place, and
 * hands the signal on to them. A process that is not there in time has nothing in hand, and exits with 0.
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
