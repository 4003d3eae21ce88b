/**
 * Aborts with a TimeoutError after `ms`, or when the given signal does. Use it instead of AbortSignal.timeout() when
 * joining signals: on Node 20, garbage collection drops a timeout that only AbortSignal.any() refers to, and it never
 * fires.
 */
export function timeLimit(ms: number, signal?: AbortSignal): AbortSignal {
  const late = new AbortController();
  setTimeout(() => {
    late.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  }, ms).unref();
  return signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
}
