import { Box, Stack, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { IconBell } from '@tabler/icons-react';
import { pastAlertsQuery, type Alert } from '../../api/alerts.ts';
import { ALERT_NAMES, causeOf } from '../../parts/alert-words.ts';
import { fromNow, fullTime } from '../../parts/format.ts';
import { Empty, Rows, Trouble } from '../../parts/page.tsx';
import { SectionTitle } from '../../parts/section-title.tsx';
import { ShowMore } from '../../parts/show-more.tsx';

/** Resolved alerts, newest first. */
export function AlertHistory() {
  const query = useInfiniteQuery(pastAlertsQuery);
  const { data, error, isPending, refetch } = query;
  const alerts = data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Stack component="section" gap="md" aria-label="History">
      <SectionTitle about="Resolved alerts, newest first.">History</SectionTitle>
      {error !== null && <Trouble error={error} doing="Could not load the history" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">
          {isPending && <Rows count={2} />}
          {!isPending && alerts.length === 0 && (
            <Empty icon={<IconBell size={36} />} title="No past alerts">
              Alerts move here once they are resolved.
            </Empty>
          )}
          {alerts.map((alert) => (
            <PastAlert key={alert.id} alert={alert} />
          ))}
        </Box>
      )}
      <ShowMore of={query} />
    </Stack>
  );
}

function PastAlert({ alert }: { readonly alert: Alert }) {
  const [opened, { toggle }] = useDisclosure(false);
  const { id, kind, title, text, started_at: from, resolved_at: to, acknowledged_by: by } = alert;
  return (
    <Box className="list-row">
      <UnstyledButton className="row-button" aria-expanded={opened} aria-controls={`${id}-details`} onClick={toggle}>
        <Text size="sm" flex={1} miw={0} style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Text>
        <Text size="sm" c="dimmed" className="nowrap" title={fullTime(from)}>
          {fromNow(from)}
        </Text>
      </UnstyledButton>
      <Box id={`${id}-details`}>
        {opened && (
          <Box px="md" pb="md">
            <Text size="sm" mb="xs">
              {text}
            </Text>
            <dl className="facts">
              <dt>Alert</dt>
              <dd>{ALERT_NAMES[kind]}</dd>
              <dt>Started</dt>
              <dd>{fullTime(from)}</dd>
              <dt>Resolved</dt>
              <dd>{to === null ? '–' : fullTime(to)}</dd>
              {by !== null && (
                <>
                  <dt>Acknowledged by</dt>
                  <dd>{by}</dd>
                </>
              )}
            </dl>
            <Link {...causeOf(alert)} className="text-link">
              Show cause
            </Link>
          </Box>
        )}
      </Box>
    </Box>
  );
}
