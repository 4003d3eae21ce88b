import { Box, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { IconAlertTriangle, IconBellOff, IconCheck } from '@tabler/icons-react';
import { ALERT_VIEWS, firingQuery, type Alert } from '../../api/alerts.ts';
import { send } from '../../api/request.ts';
import { BusyButton } from '../../parts/busy.tsx';
import { useSave } from '../../parts/use-save.ts';
import { causeOf, endingSentence } from '../../parts/alert-words.ts';
import { fromNow, fullTime } from '../../parts/format.ts';
import { Rows, Trouble } from '../../parts/page.tsx';

/** Alerts firing now. */
export function FiringAlerts({ anyOn }: { readonly anyOn: boolean }) {
  const { data, error, refetch } = useQuery(firingQuery);
  if (error !== null) return <Trouble error={error} doing="Could not load alerts" onRetry={() => void refetch()} />;
  return (
    <Box className="surface" component="section" aria-label="Firing now">
      {data === undefined && <Rows count={1} />}
      {data?.data.length === 0 && (
        <Group p="md" gap="sm" wrap="nowrap">
          {/* Without active rules, "no alerts" is not good news. */}
          {anyOn ? <IconCheck size={18} color="var(--good)" aria-hidden /> : <IconBellOff size={18} aria-hidden />}
          <Text size="sm">
            {anyOn ? 'No alerts are firing.' : 'All alerts are off. Turn on the ones you want below.'}
          </Text>
        </Group>
      )}
      {data?.data.map((alert) => (
        <Firing key={alert.id} alert={alert} />
      ))}
    </Box>
  );
}

function Firing({ alert }: { readonly alert: Alert }) {
  const { id, title, text, started_at: since, acknowledged_at: at, acknowledged_by: by } = alert;
  const acknowledge = useSave({
    send: () => send('POST', `/alerts/${encodeURIComponent(id)}/acknowledge`),
    stale: ALERT_VIEWS,
    done: 'Alert acknowledged.',
    failed: 'Could not acknowledge the alert',
  });
  return (
    <Group className="list-row" p="md" gap="sm" wrap="nowrap" align="flex-start">
      <IconAlertTriangle size={18} color="var(--bad)" aria-hidden style={{ flexShrink: 0, marginTop: 2 }} />
      <Stack gap={4} miw={0} flex={1} style={{ overflowWrap: 'anywhere' }}>
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <Text size="sm">{text}</Text>
        <Text size="sm" c="dimmed">
          {endingSentence(alert)}
        </Text>
        {by !== null && at !== null && (
          <Text size="sm" title={fullTime(at)}>
            Acknowledged by {by} {fromNow(at)}. Not repeated until it has ended and fires again.
          </Text>
        )}
        <Group gap="md">
          {by === null && (
            <BusyButton
              size="xs"
              variant="default"
              aria-label={`Acknowledge: ${title}`}
              busy={acknowledge.isPending}
              onClick={() => acknowledge.mutate()}
            >
              Acknowledge
            </BusyButton>
          )}
          <Link {...causeOf(alert)} className="text-link">
            Show cause
          </Link>
          <Text size="xs" c="dimmed" title={fullTime(since)}>
            Started {fromNow(since)}
          </Text>
        </Group>
      </Stack>
    </Group>
  );
}
