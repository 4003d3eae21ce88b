/** How a caller wants its response. */
export interface CallMode {
  /** Whether to respond with 202 when the task is still running after the wait. */
  readonly asynchronous: boolean;
  /** How long to wait for the image, in ms. */
  readonly waitMs: number;
  /** Whether the query or a header requested the mode, which Preference-Applied then confirms. */
  readonly preferred: boolean;
  /** Seconds of an honored `Prefer: wait`. */
  readonly waitSeconds: number | undefined;
}

interface CallPreferences {
  /** Whether the query says `async=true`. */
  readonly asynchronous: boolean;
  readonly prefer: string | string[] | undefined;
}

/** The mode of a call to a sync path: plain, `?async=true`, or `Prefer: respond-async` and `wait=N` (RFC 7240). */
export function callMode({ asynchronous: asked, prefer }: CallPreferences, syncWaitMs: number): CallMode {
  const preferences = [prefer ?? []].flat().join(',').split(',');
  const asynchronous = asked || preferences.some((text) => /^\s*respond-async\s*(?:;|$)/i.test(text));
  const waitSeconds = preferences.map(secondsOf).find((seconds) => seconds !== undefined && seconds >= 1);
  const requestedMs = waitSeconds === undefined ? (asynchronous ? 0 : syncWaitMs) : waitSeconds * 1000;
  return { asynchronous, waitMs: Math.min(requestedMs, syncWaitMs), preferred: asynchronous, waitSeconds };
}

/** The mode of an `/async` path, whatever the request says. */
export const ASYNC_PATH: CallMode = { asynchronous: true, waitMs: 0, preferred: false, waitSeconds: undefined };

function secondsOf(preference: string): number | undefined {
  const match = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:;|$)/i.exec(preference);
  return match ? Number(match[1]) : undefined;
}
