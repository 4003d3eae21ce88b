import { publicCode } from '#contract/error-codes.js';
import type { TaskEventView } from '#contract/task-view.js';
import { unknownEnd, type ProviderCall } from '#tasks/row/provider-call.js';
import type { TaskHistory } from '#tasks/row/task.js';

/** The events of a task, in order. Provider keys are shown by name. */
export function timelineOf(task: TaskHistory): TaskEventView[] {
  const { status, createdAt, startedAt, finishedAt, calls, approval } = task;
  // The first call begins with the start itself, and its time may be rounded to a millisecond before it.
  const picked = startedAt && earlier(startedAt, calls[0]?.startedAt);
  return [
    { event: 'accepted', at: seconds(createdAt) },
    ...(approval?.decision === undefined
      ? []
      : [{ event: approval.decision, at: seconds(new Date(approval.decidedAt ?? 0)) }]),
    ...(picked === null ? [] : [{ event: 'started', at: seconds(picked) } as const]),
    ...calls.map((call) => callView(call, task.callRuns && call === calls.at(-1))),
    ...(finishedAt === null || status === 'pending' ? [] : [{ event: status, at: seconds(finishedAt) }]),
  ];
}

function callView(call: ProviderCall, mayRun: boolean): TaskEventView {
  const { endedAt, code } = call;
  const { outcome = 'unknown', charged = 'maybe' } = endedAt === undefined ? unknownEnd(call.free) : call;
  const isRunning = mayRun && endedAt === undefined;
  return {
    event: 'provider_call',
    at: seconds(new Date(call.startedAt)),
    provider: call.provider,
    ...(call.server === undefined ? {} : { server: call.server }),
    ...(call.region === undefined ? {} : { region: call.region }),
    key: call.key === '' ? null : call.key,
    model: call.model,
    ...(call.upstreamId === undefined ? {} : { upstream_id: call.upstreamId }),
    ...(endedAt === undefined ? {} : { ended: seconds(new Date(endedAt)) }),
    outcome: isRunning ? 'running' : outcome,
    ...(code === undefined ? {} : { code: publicCode(code) ?? code }),
    ...(isRunning ? {} : { charged }),
  };
}

function earlier(start: Date, call: string | undefined): Date {
  return call === undefined || new Date(call) > start ? start : new Date(call);
}

function seconds(time: Date): number {
  return time.getTime() / 1_000;
}
