import type { ClaimedTask } from '#tasks/states/task-transitions.js';
import { attemptIds, openSpan, recordWait, traceparentOf, type OpenSpan } from '#telemetry/spans.js';

/**
 * Opens the span of an attempt, linked to the previous attempt, and records a span of the wait before it. `queuedAt`:
 * when the job was added, in ms since the epoch; only the first attempt's wait is known without it.
 */
export function attemptSpan(claimed: ClaimedTask, queuedAt: number | undefined): OpenSpan {
  const { task, attempt, losses, traceParent } = claimed;
  const ids = attemptIds(task.id, attempt, traceParent);
  // When the request has no span, the attempts have a trace of their own.
  const before = attempt === 1 ? undefined : traceparentOf(attemptIds(task.id, attempt - 1, traceParent));
  const fields = { taskId: task.id, requestId: task.requestId, attempt, losses };
  const span = openSpan({
    name: 'task.attempt',
    kind: 'consumer',
    about: task.id,
    parent: traceParent,
    follows: before,
    ids,
    fields: { ...fields, model: task.model, action: task.action },
  });
  const agoMs = attempt === 1 ? (task.underway?.ageMs ?? 0) : queuedAt === undefined ? 0 : Date.now() - queuedAt;
  if (agoMs > 0) {
    const isParked = claimed.providerCallOpen && claimed.providerJobId !== null;
    recordWait({ name: isParked ? 'task.parked' : 'task.queued', parent: traceParent ?? task.id, agoMs, fields });
  }
  return span;
}
