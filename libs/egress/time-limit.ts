/**
 * Aborts with a TimeoutError after so many ms, or when the given signal does. In place of AbortSignal.timeout() wherever
 * signals are joined: Node 20 forgets a timeout that only AbortSignal.any() refers to when it collects garbage, and then
 * nothing ever ends.
 */
export function timeLimit(ms: number, signal?: AbortSignal): AbortSignal {
  const late = new AbortController();
  setTimeout(() => {
    late.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  }, ms).unref();
  return signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
}
