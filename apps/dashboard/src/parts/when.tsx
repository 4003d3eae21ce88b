import { Text } from '@mantine/core';
import { fromNow, fullTime } from './format.ts';

interface WhenProps {
  readonly time: string | null;
  /** Shown if there is no time. */
  readonly never?: string;
}

/** "3 minutes ago", with the full time on hover. */
export function When({ time, never = 'Never' }: WhenProps) {
  return time === null ? (
    <Text size="sm" c="dimmed">
      {never}
    </Text>
  ) : (
    <Text size="sm" title={fullTime(time)} className="nowrap">
      {fromNow(time)}
    </Text>
  );
}
