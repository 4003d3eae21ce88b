// A separate process that makes calls for its parent and returns the results.
import { bodyOf, SocketCaller } from './socket-caller.mjs';
import { percentile } from './figures.mjs';
import { NUMBER } from './requests.mjs';

const CONNECT_AT_ONCE = 100;
/** Maximum number of task ids returned to the parent for polling. */
const TASK_IDS = 1_000;
/** Calls so far, in all runs. */
let calls = 0;

process.on('message', (order) => {
  run(order).then(
    (result) => process.send({ id: order.id, result }),
    (error) => process.send({ id: order.id, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());

/**
 * `durationMs`: each connection repeats calls for this long; `total`: maximum number of calls. `answer`: `{text,
 * times}`, a text that each response must contain this many times; others count as wrong.
 */
async function run({ port, requests, connections, durationMs, total = Infinity, timeoutMs, status, answer }) {
  const callers = await openAll(port, connections);
  const seen = { latencies: [], wrong: {}, taskIds: [], started: 0, bytes: 0 };
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const end = durationMs === undefined ? Infinity : begin + durationMs;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs ?? (durationMs ?? 0) + 30_000);
  const again = () => seen.started < total && performance.now() < end && !late.signal.aborted;
  await Promise.race([
    Promise.all(callers.map((caller) => keepCalling(caller, { requests, status, answer }, seen, again))),
    new Promise((resolve) => late.signal.addEventListener('abort', resolve)),
  ]);
  clearTimeout(timer);
  const wallMs = performance.now() - begin;
  const used = process.cpuUsage(cpu);
  for (const caller of callers) caller.close();
  const sorted = Float64Array.from(seen.latencies).sort();
  return {
    calls: sorted.length,
    wallMs,
    perSecond: (sorted.length / wallMs) * 1000,
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
    wrong: late.signal.aborted ? { ...seen.wrong, 'not answered in time': seen.started - sorted.length } : seen.wrong,
    cpuShare: (used.user + used.system) / 1000 / wallMs,
    taskIds: seen.taskIds,
    bytes: seen.bytes,
  };
}

async function openAll(port, connections) {
  const callers = [];
  while (callers.length < connections) {
    const count = Math.min(CONNECT_AT_ONCE, connections - callers.length);
    callers.push(...(await Promise.all(Array.from({ length: count }, () => SocketCaller.open(port)))));
  }
  return callers;
}

function keepCalling(caller, { requests, status, answer }, seen, again) {
  return new Promise((resolve) => {
    const next = () => {
      if (!again()) return resolve();
      const request = numbered(requests[seen.started % requests.length]);
      seen.started += 1;
      const since = performance.now();
      caller.call(request, (error, answered, text) => {
        const tookMs = performance.now() - since;
        const outcome = error === undefined ? outcomeOf(answered, text, answer) : error.message;
        seen.bytes += text?.length ?? 0;
        if (outcome === status) seen.latencies.push(tookMs);
        else seen.wrong[outcome] = (seen.wrong[outcome] ?? 0) + 1;
        if (error !== undefined) return resolve();
        if (seen.taskIds.length < TASK_IDS) seen.taskIds.push(/\r\nx-task-id: *(\S+)/i.exec(text)?.[1]);
        next();
      });
    };
    next();
  });
}

function numbered(request) {
  calls += 1;
  return request.replace(NUMBER, `#${String(calls).padStart(NUMBER.length - 1, '0')}`);
}

function outcomeOf(status, text, answer) {
  if (answer === undefined || status !== 200) return status;
  return countOf(bodyOf(text), answer.text) === answer.times ? status : 'another answer';
}

function countOf(text, part) {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}
