import { Button, Group, List, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { BusyButton } from '../../parts/busy.tsx';
import type { RetryBody, RetryOutcome } from '../../api/operation.ts';
import { queryClient } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Trouble } from '../../parts/page.tsx';

interface RetryProps {
  readonly label: string;
  /** Added for screen readers when several buttons have the same label. */
  readonly of?: string;
  /** With 0 there is no button; the result of the last retry stays until it is closed. */
  readonly count: number;
  /** Body of the API call. */
  readonly body: RetryBody;
  readonly onDone?: () => void;
}

/** Retries failed tasks after confirming the price, and shows the result. */
export function RetryButton({ label, of, count, body, onDone }: RetryProps) {
  const [opened, { open, close }] = useDisclosure(false);
  // The dialog keeps its values while the page behind it refreshes.
  const [asked, setAsked] = useState({ count, body });
  const [outcome, setOutcome] = useState<RetryOutcome | null>(null);
  const retry = useMutation({
    mutationFn: (after: string | null) =>
      send<RetryOutcome>('POST', '/failures/retry', { ...asked.body, ...(after === null ? {} : { after }) }),
    // Stays while the next tasks are retried, also when that fails: the first question is answered.
    onSuccess: setOutcome,
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['operation'] }),
  });
  const leave = () => {
    close();
    if (outcome !== null) onDone?.();
  };
  return (
    <>
      {count > 0 && (
        <Button
          variant="default"
          size="xs"
          style={{ flexShrink: 0 }}
          {...(of === undefined ? {} : { 'aria-label': `${label}: ${of}` })}
          onClick={() => {
            setAsked({ count, body });
            retry.reset();
            setOutcome(null);
            open();
          }}
        >
          {label}
        </Button>
      )}
      <Dialog opened={opened} onClose={leave} title={asked.count === 1 ? 'Retry this task?' : 'Retry these tasks?'}>
        <Stack>
          {outcome === null ? (
            <Text size="sm">
              {asked.count === 1 ? 'Creates a new task' : `Creates ${asked.count.toLocaleString('en')} new tasks`} from
              the same {asked.count === 1 ? 'request' : 'requests'}, charged to the same account and key at today’s
              price. A failed task can be retried only once{asked.count > 100 ? ', and 100 tasks at a time' : ''}.
            </Text>
          ) : (
            <Outcome outcome={outcome} />
          )}
          {retry.error !== null && <Trouble error={retry.error} doing="Could not retry" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={leave} data-autofocus>
              {outcome === null ? 'Cancel' : 'Close'}
            </Button>
            {outcome === null && (
              <BusyButton busy={retry.isPending} onClick={() => retry.mutate(null)}>
                Retry
              </BusyButton>
            )}
            {outcome !== null && outcome.next !== null && (
              <BusyButton busy={retry.isPending} onClick={() => retry.mutate(outcome.next)}>
                Retry next
              </BusyButton>
            )}
          </Group>
        </Stack>
      </Dialog>
    </>
  );
}

function Outcome({ outcome: { retried, refused, next } }: { readonly outcome: RetryOutcome }) {
  const reasons = [...new Set(refused.map(({ message }) => message))];
  return (
    <Stack gap="xs" role="status">
      <Text size="sm">
        {retried.length === 1 ? '1 task' : `${retried.length || 'No'} tasks`} retried.
        {next !== null && ' More remain.'}
      </Text>
      {reasons.length > 0 && (
        <>
          <Text size="sm">{refused.length} not retried:</Text>
          <List size="sm">
            {reasons.map((reason) => (
              <List.Item key={reason}>
                {refused.filter(({ message }) => message === reason).length} × {reason}
              </List.Item>
            ))}
          </List>
        </>
      )}
    </Stack>
  );
}
