import type { TaskDetail, TimelineEvent } from '../api/types.ts';

/** What a task's time goes into, one after the other. */
type SpanKind = 'waiting' | 'preparing' | 'provider' | 'saving';

/** A part of a task's time. Times are in ms since the epoch. */
export interface TaskSpan {
  readonly kind: SpanKind;
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** The call that took it has failed. */
  readonly failed: boolean;
}

type TimedTask = Pick<TaskDetail, 'status' | 'phase' | 'created_at' | 'finished_at' | 'timeline'>;

/** All of a task's time from its acceptance to its end, or until `now`, without gaps. */
export function spansOf(task: TimedTask, now: number): TaskSpan[] {
  const end = task.finished_at === null ? now : Date.parse(task.finished_at);
  const spans: TaskSpan[] = [];
  let at = Date.parse(task.created_at);
  const add = (kind: SpanKind, name: string, until: number, failed = false): void => {
    const to = Math.min(until, end);
    if (to > at) spans.push({ kind, name, from: at, to, failed });
    at = Math.max(at, to);
  };
  const started = task.timeline.find(({ event }) => event === 'started');
  const decided = task.timeline.find(({ event }) => event === 'approved' || event === 'rejected');
  if (task.phase === 'held') add('waiting', 'Waiting for approval', end);
  else if (decided !== undefined) add('waiting', 'Waiting for approval', decided.at * 1000);
  const calls = task.timeline.filter(isCall);
  for (const [index, call] of calls.entries()) {
    const begun = call.at * 1000;
    if (index > 0) add('waiting', 'Waiting to try again', begun);
    add('waiting', 'Waiting', Math.min((started ?? call).at * 1000, begun));
    add('preparing', 'Preparing', begun);
    const { provider = 'Provider', answered, ended } = call;
    const name = calls.length === 1 ? provider : `${provider}, attempt ${index + 1}`;
    const until = answered ?? ended;
    add('provider', name, until === undefined ? end : until * 1000, call.outcome === 'failed');
    if (answered !== undefined && ended !== undefined) add('saving', 'Saving', ended * 1000);
  }
  const last = spans.at(-1);
  // Its times are rounded in different ways.
  if (task.status === 'completed' && last !== undefined) return [...spans.slice(0, -1), { ...last, to: end }];
  const isQueued = task.status === 'pending' && task.phase === 'queued';
  if (calls.length > 0) add('waiting', 'Waiting to try again', end);
  else add('waiting', 'Waiting', isQueued || started === undefined ? end : started.at * 1000);
  add('preparing', 'Preparing', end);
  return spans;
}

function isCall({ event, outcome }: TimelineEvent): boolean {
  return event === 'provider_call' && outcome !== 'not_called';
}
