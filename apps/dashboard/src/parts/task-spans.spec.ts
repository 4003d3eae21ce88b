import type { TaskDetail, TimelineEvent } from '../api/types.ts';
import { spansOf } from './task-spans.ts';

const START = Date.parse('2026-11-29T10:00:00Z');
const at = (seconds: number): number => START / 1000 + seconds;
const call = (from: number, more: Partial<TimelineEvent>): TimelineEvent => ({
  event: 'provider_call',
  at: at(from),
  provider: 'studio',
  outcome: 'failed',
  ...more,
});
const ACCEPTED: TimelineEvent = { event: 'accepted', at: at(0) };
const task = (timeline: TimelineEvent[], status: TaskDetail['status'], phase: TaskDetail['phase'], end?: number) => ({
  ...{ status, phase, timeline: [ACCEPTED, ...timeline] },
  created_at: new Date(START).toISOString(),
  finished_at: end === undefined ? null : new Date(START + end * 1000).toISOString(),
});
const told = (given: ReturnType<typeof task>, now = 100) =>
  spansOf(given, START + now * 1000).map(({ name, from, to, failed }) => [name, from - START, to - START, failed]);

describe('the time of a task', () => {
  it('is divided without gaps: its wait, each call, the wait between them, and saving', () => {
    const timeline = [
      { event: 'started', at: at(2) } as const,
      call(3, { ended: at(5) }),
      call(9, { outcome: 'succeeded', answered: at(19), ended: at(20) }),
    ];
    expect(told(task(timeline, 'completed', 'done', 20))).toEqual([
      ['Waiting', 0, 2_000, false],
      ['Preparing', 2_000, 3_000, false],
      ['studio, attempt 1', 3_000, 5_000, true],
      ['Waiting to try again', 5_000, 9_000, false],
      ['studio, attempt 2', 9_000, 19_000, false],
      ['Saving', 19_000, 20_000, false],
    ]);
  });

  it('has no part for the milliseconds by which times are rounded apart', () => {
    const timeline = [call(0, { outcome: 'succeeded', answered: at(4), ended: at(4.999) })];
    expect(told(task(timeline, 'completed', 'done', 5))).toEqual([
      ['studio', 0, 4_000, false],
      ['Saving', 4_000, 5_000, false],
    ]);
  });

  it('goes on until now while it waits, runs, or waits to try again', () => {
    expect(told(task([], 'pending', 'held'))).toEqual([['Waiting for approval', 0, 100_000, false]]);
    expect(told(task([{ event: 'approved', at: at(40) }], 'pending', 'queued'))).toEqual([
      ['Waiting for approval', 0, 40_000, false],
      ['Waiting', 40_000, 100_000, false],
    ]);
    expect(told(task([], 'pending', 'queued'))).toEqual([['Waiting', 0, 100_000, false]]);
    expect(told(task([{ event: 'started', at: at(1) }], 'pending', 'running'))).toEqual([
      ['Waiting', 0, 1_000, false],
      ['Preparing', 1_000, 100_000, false],
    ]);
    expect(told(task([call(1, { outcome: 'running' })], 'pending', 'running'))).toEqual([
      ['Waiting', 0, 1_000, false],
      ['studio', 1_000, 100_000, false],
    ]);
    expect(told(task([call(1, { ended: at(2) })], 'pending', 'queued')).at(-1)).toEqual([
      ...['Waiting to try again', 2_000, 100_000, false],
    ]);
  });

  it('leaves out calls that were not made, and ends with the task', () => {
    const notCalled = call(1, { outcome: 'not_called', ended: at(1) });
    expect(told(task([notCalled], 'failed', 'done', 30))).toEqual([['Waiting', 0, 30_000, false]]);
    expect(told(task([call(1, { outcome: 'unknown' })], 'failed', 'done', 30)).at(-1)).toEqual([
      ...['studio', 1_000, 30_000, false],
    ]);
  });
});
