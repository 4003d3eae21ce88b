import { Box, Group, Skeleton, Text, Title, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { amountIn } from '#contract/money.js';
import { useMay } from '../../api/queries.ts';
import { lastWeekQuery } from '../../api/usage.ts';
import { weekOf } from './week-of.ts';

const weekday = new Intl.DateTimeFormat('en', { weekday: 'short', timeZone: 'UTC' });

/** Images and spend of the last seven days, in UTC as everywhere in usage, a bar for each. */
export function LastWeek() {
  const { data } = useQuery({ ...lastWeekQuery(), enabled: useMay()('usage.read') });
  if (data === undefined) return <Skeleton height={120} radius="lg" />;
  const days = weekOf(data);
  const most = Math.max(1, ...days.map(({ images }) => images));
  return (
    <Box className="surface" p="lg" component="section" aria-label="Last seven days, in UTC">
      <Group justify="space-between" mb="sm">
        <Title order={2} fz="md">
          Last seven days (UTC)
        </Title>
        <Link to="/usage" className="text-link action">
          All figures
        </Link>
      </Group>
      <ol className="week">
        {days.map(({ time, images, failed, spend }) => (
          <li key={time}>
            <Text size="xs" className="numbers" fw={600}>
              {images.toLocaleString('en')}
              <VisuallyHidden component="span"> {images === 1 ? 'image' : 'images'}</VisuallyHidden>
            </Text>
            <div className="week-bar" aria-hidden>
              <div style={{ height: `${(images / most) * 100}%` }} />
            </div>
            <Text size="xs" c="dimmed">
              {weekday.format(new Date(time))}
            </Text>
            <Text size="xs" c="dimmed" className="numbers" truncate>
              {amountIn(spend.toFixed(2), data.currency)}
            </Text>
            {failed > 0 && (
              <Text size="xs" c="var(--bad)" className="numbers">
                {failed.toLocaleString('en')} failed
              </Text>
            )}
          </li>
        ))}
      </ol>
    </Box>
  );
}
