/** Waits for `work` until the signal aborts, then throws the signal's reason. The work itself goes on. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, stop } = abortOf(signal);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    stop();
  }
}

function abortOf(signal: AbortSignal): { promise: Promise<never>; stop: () => void } {
  let stop = (): void => undefined;
  const promise = new Promise<never>((_, reject) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is the caller's to choose
    const fail = (): void => reject(signal.reason);
    if (signal.aborted) return fail();
    signal.addEventListener('abort', fail, { once: true });
    stop = () => signal.removeEventListener('abort', fail);
  });
  return { promise, stop };
}
