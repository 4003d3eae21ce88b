import { Group, Select, Text, TextInput } from '@mantine/core';
import { startOfDay, utcDay } from './time-span.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Milliseconds before now. */
const RANGES = [
  { value: String(HOUR_MS), label: 'Last hour' },
  { value: String(DAY_MS), label: 'Last 24 hours' },
  { value: String(7 * DAY_MS), label: 'Last 7 days' },
  { value: String(30 * DAY_MS), label: 'Last 30 days' },
];
/** Stands for the time range in the URL. */
const CHOSEN = 'chosen';
const minutes = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  timeZoneName: 'short',
});

/** From this time on, and before the second one; ISO 8601. */
interface Times {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

interface TimeFilterProps {
  readonly times: Times;
  readonly onChange: (times: Times) => void;
}

/** Filters by time: a range that ends now, or days in UTC, as usage and alerts count them. */
export function TimeFilter({ times, onChange }: TimeFilterProps) {
  const { from, to } = times;
  const chosen = [from, to].every(isStartOfDay) ? undefined : timesText(times);
  return (
    <Group gap="sm" className="task-times">
      <Select
        aria-label="Time range"
        placeholder="Any time"
        clearable
        w={{ base: '100%', sm: 210 }}
        title={chosen}
        data={chosen === undefined ? RANGES : [...RANGES, { value: CHOSEN, label: chosen }]}
        value={chosen === undefined ? null : CHOSEN}
        allowDeselect={false}
        onChange={(range) =>
          onChange({
            from: range === null ? undefined : new Date(Date.now() - Number(range)).toISOString(),
            to: undefined,
          })
        }
      />
      <Group gap={6} wrap="nowrap" w={{ base: '100%', sm: 'auto' }}>
        <TextInput
          type="date"
          aria-label="From (UTC)"
          flex={{ base: 1, sm: '0 0 150px' }}
          value={from === undefined ? '' : dayFieldOf(Date.parse(from))}
          onChange={({ currentTarget: { value } }) =>
            onChange({ from: value === '' ? undefined : startOfDay(value), to })
          }
        />
        <span aria-hidden>–</span>
        <TextInput
          type="date"
          aria-label="To (UTC)"
          flex={{ base: 1, sm: '0 0 150px' }}
          value={to === undefined ? '' : dayFieldOf(Date.parse(to) - 1)}
          onChange={({ currentTarget: { value } }) =>
            onChange({
              from,
              to: value === '' ? undefined : startOfDay(utcDay(Date.parse(startOfDay(value)) + DAY_MS)),
            })
          }
        />
        <Text size="xs" c="dimmed" aria-hidden>
          UTC
        </Text>
      </Group>
    </Group>
  );
}

/** Whether a time is the start of a day, so that the date fields can show it; also for an invalid time. */
function isStartOfDay(time: string | undefined): boolean {
  const moment = Date.parse(time ?? '');
  return Number.isNaN(moment) || moment % DAY_MS === 0;
}

/** The value of a date field; empty for an invalid time. */
function dayFieldOf(time: number): string {
  return Number.isNaN(time) ? '' : utcDay(time);
}

/** "Since Nov 23, 4:32 PM". */
function timesText({ from, to }: Times): string {
  const [start, end] = [from, to].map((time) => (time === undefined ? undefined : new Date(time)));
  if (start === undefined) return end === undefined ? '' : `Before ${minutes.format(end)}`;
  return end === undefined ? `Since ${minutes.format(start)}` : minutes.formatRange(start, end);
}
