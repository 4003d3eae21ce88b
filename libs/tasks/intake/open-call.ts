import { setImmediate } from 'node:timers/promises';

/** The call that a request came in with. */
export interface OpenCall {
  /** Aborts when the caller has disconnected. */
  readonly gone: AbortSignal;
  /** How long ago the request may have been sent, in ms: it may have waited while this process was paused. */
  readonly ageMs: () => number;
}

/** Longest time in ms that a request takes until its row is written when nothing stalls. */
const PLAIN_MS = 50;
/** After a pause, Node reads what has arrived in any order, and tells of a closed connection a turn later. */
const TURNS = 4;

/** The caller of a request has disconnected before it was accepted, so nothing was ordered, and there is no response. */
export class CallerGone extends Error {
  constructor() {
    super('the caller disconnected before its request was accepted');
  }
}

/** Throws CallerGone when the caller has disconnected. Its client may already have sent the request again. */
export async function assertPresent(call: OpenCall | undefined): Promise<void> {
  if (call === undefined) return;
  if (call.ageMs() > PLAIN_MS) await readClosedConnections();
  if (call.gone.aborted) throw new CallerGone();
}

/** Returns once this process knows which of its callers had disconnected when this was called. */
export async function readClosedConnections(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await setImmediate();
}
