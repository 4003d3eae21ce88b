import { publicCode } from '#contract/error-codes.js';
import type { TaskEventView } from '#contract/task-view.js';
import { unknownEnd, type ProviderCall } from '#tasks/provider-call.js';
import type { TaskHistory } from '#tasks/task.js';

/** What has happened to a task, in order. Keys of providers are shown by their names. */
export function timelineOf(task: TaskHistory): TaskEventView[] {
  const { status, createdAt, startedAt, finishedAt, calls } = task;
  return [
    { event: 'accepted', at: seconds(createdAt) },
    ...(startedAt === null ? [] : [{ event: 'started', at: seconds(startedAt) } as const]),
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
    key: call.key === '' ? null : call.key,
    model: call.model,
    ...(call.upstreamId === undefined ? {} : { upstream_id: call.upstreamId }),
    ...(endedAt === undefined ? {} : { ended: seconds(new Date(endedAt)) }),
    outcome: isRunning ? 'running' : outcome,
    ...(code === undefined ? {} : { code: publicCode(code) }),
    ...(isRunning ? {} : { charged }),
  };
}

function seconds(time: Date): number {
  return time.getTime() / 1_000;
}
