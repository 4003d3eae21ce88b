import { Session } from 'node:inspector';
import { performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

const EVERY_MS = 10_000;
/** Share of the time in which an idle process runs JavaScript at most. */
const IDLE_SHARE = 0.03;
/** A young generation that has grown to this size, in bytes, is worth the work. */
const GROWN_BYTES = 8_388_608;
/** Largest heap that is collected, in bytes: collecting one for thousands of waiting callers would take seconds. */
const SMALL_HEAP_BYTES = 134_217_728;

/**
 * Gives memory back to the system when the process is idle, about 35 MB. V8's young generation grows to its largest
 * size while modules are loaded, or under load, and keeps it: a process that always does a little is never idle enough
 * for V8, and other collections leave it as it is. Takes 0.1 to 0.3 s, once until it has grown again.
 */
export function releaseIdleMemory(everyMs = EVERY_MS): void {
  let before = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization < IDLE_SHARE && isWorthIt()) collect();
  }, everyMs).unref();
}

function isWorthIt(): boolean {
  const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? 0;
  return young >= GROWN_BYTES && getHeapStatistics().used_heap_size <= SMALL_HEAP_BYTES;
}

/** Like `global.gc`, but as V8 does it when memory is low; that it also shrinks the heap is all that matters here. */
function collect(): void {
  const session = new Session();
  session.connect();
  session.post('HeapProfiler.collectGarbage', () => setImmediate(() => session.disconnect()));
}
