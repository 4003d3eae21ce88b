import { Box, Text } from '@mantine/core';
import type { RecentCalls } from '../api/operation.ts';
import { callsText } from './call-words.ts';

const MINUTES = 60;
const HALF = 14;
const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });

type Minute = RecentCalls['minutes'][number];

/** The last 60 minutes of a provider's calls: successes upward, failures downward, so that they differ without colors. */
export function CallStrip({ name, calls }: { readonly name: string; readonly calls: RecentCalls }) {
  const text = callsText(calls);
  const most = Math.max(1, ...calls.minutes.map(({ succeeded, failed }) => Math.max(succeeded, failed)));
  return (
    <Box miw={0}>
      <svg
        role="img"
        aria-label={`${name}, by minute. ${text}`}
        viewBox={`0 0 ${MINUTES * 4} ${2 * HALF}`}
        preserveAspectRatio="none"
        width="100%"
        height={36}
        style={{ display: 'block' }}
      >
        <rect x={0} y={HALF - 0.5} width={MINUTES * 4} height={1} fill="var(--line)" />
        {calls.minutes.map((minute) => (
          <Bars key={minute.time} minute={minute} x={placeOf(minute, calls)} most={most} />
        ))}
      </svg>
      <Text size="xs" c="dimmed" className="numbers" mt={4}>
        {text}
      </Text>
    </Box>
  );
}

function Bars({ minute, x, most }: { readonly minute: Minute; readonly x: number; readonly most: number }) {
  const { time, succeeded, failed } = minute;
  return (
    <g>
      <title>{`${clock.format(new Date(time))}: ${succeeded} succeeded, ${failed} failed`}</title>
      <rect x={x} y={0} width={4} height={2 * HALF} fill="transparent" />
      {succeeded > 0 && (
        <rect
          x={x}
          y={HALF - heightOf(succeeded, most)}
          width={3}
          height={heightOf(succeeded, most)}
          fill="var(--good)"
        />
      )}
      {failed > 0 && (
        <rect x={x} y={HALF} width={3} height={heightOf(failed, most)} fill="var(--mantine-color-error)" />
      )}
    </g>
  );
}

/** The current minute is the last one on the right. */
function placeOf({ time }: Minute, { minute }: RecentCalls): number {
  const ago = Math.round((Date.parse(minute) - Date.parse(time)) / 60_000);
  return (MINUTES - 1 - ago) * 4;
}

/** A single call among many stays visible. */
function heightOf(count: number, most: number): number {
  return Math.max(2, (count / most) * HALF);
}
