import type { TaskHistory } from '#tasks/row/task.js';
import { timelineOf } from './task-timeline.js';

const at = (ms: number): Date => new Date(Date.parse('2026-11-23T12:00:00.000Z') + ms);

const call = (ms: number): TaskHistory['calls'][number] => ({
  n: 1,
  provider: 'main',
  key: '',
  model: 'm',
  free: true,
  startedAt: at(ms).toISOString(),
  endedAt: at(30).toISOString(),
  outcome: 'succeeded',
  charged: 'no',
});

it.each([
  ['a millisecond before it', 17, 17],
  ['after it', 19, 18],
])('starts a task before its first call, whose time is %s', (_, called, started) => {
  const history = {
    status: 'completed',
    createdAt: at(0),
    startedAt: at(18),
    finishedAt: at(40),
    callRuns: false,
    approval: null,
  } as const;
  const timeline = timelineOf({ ...history, calls: [call(called)] });
  expect(timeline.map(({ event }) => event)).toEqual(['accepted', 'started', 'provider_call', 'completed']);
  const times = timeline.map((event) => event.at);
  expect(times).toEqual([...times].sort((one, other) => one - other));
  expect(times[1]).toBe(at(started).getTime() / 1000);
});

it('tells between acceptance and end what was decided about a request that needed an approval', () => {
  const timeline = timelineOf({
    status: 'failed',
    createdAt: at(0),
    startedAt: null,
    finishedAt: at(40),
    callRuns: false,
    calls: [],
    approval: { above: 0, deadlineMs: 1, decision: 'rejected', decidedAt: at(40).toISOString(), decidedBy: 'person_1' },
  });
  expect(timeline.map(({ event }) => event)).toEqual(['accepted', 'rejected', 'failed']);
});
