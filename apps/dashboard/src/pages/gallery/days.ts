import type { TaskRow } from '../../api/types.ts';
import { dayOf } from '../../parts/format.ts';
import { utcDay } from '../../parts/time-span.ts';

/** Tasks of one day in UTC. */
interface Day {
  readonly name: string;
  readonly tasks: readonly TaskRow[];
}

const DAY_MS = 86_400_000;

/** Splits tasks, which are in the order of their times, into days: "Today", "Yesterday", "21 Nov 2026". */
export function daysOf(tasks: readonly TaskRow[], now = Date.now()): Day[] {
  const recent = new Map([
    [utcDay(now), 'Today'],
    [utcDay(now - DAY_MS), 'Yesterday'],
  ]);
  const days = new Map<string, TaskRow[]>();
  for (const task of tasks) {
    const day = utcDay(Date.parse(task.created_at));
    days.set(day, [...(days.get(day) ?? []), task]);
  }
  return [...days].map(([day, ones]) => ({
    name: recent.get(day) ?? dayOf(ones[0]?.created_at ?? day),
    tasks: ones,
  }));
}
