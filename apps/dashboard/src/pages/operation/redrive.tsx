import { Button, Group, List, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { RedriveBody, RedriveOutcome } from '../../api/operation.ts';
import { queryClient } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { Trouble } from '../../parts/page.tsx';

interface RedriveProps {
  readonly label: string;
  /** What screen readers say besides, where the label alone is said of several. */
  readonly of?: string;
  /** With none there is no button, and the outcome of the last ones stays until it is closed. */
  readonly count: number;
  /** What the API is told to re-drive. */
  readonly body: RedriveBody;
  readonly onDone?: () => void;
}

/** Has failed tasks made once more, after a word of what that costs, and tells what became of them. */
export function RedriveButton({ label, of, count, body, onDone }: RedriveProps) {
  const [opened, { open, close }] = useDisclosure(false);
  // What the window was opened for stays, although the page goes on counting behind it.
  const [asked, setAsked] = useState({ count, body });
  const redrive = useMutation({
    mutationFn: (after: string | null) =>
      send<RedriveOutcome>('POST', '/failures/redrive', { ...asked.body, ...(after === null ? {} : { after }) }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['operation'] }),
  });
  const leave = () => {
    close();
    if (redrive.data !== undefined) onDone?.();
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
            redrive.reset();
            open();
          }}
        >
          {label}
        </Button>
      )}
      <Modal
        opened={opened}
        onClose={leave}
        title={asked.count === 1 ? 'Re-drive this task?' : 'Re-drive these tasks?'}
      >
        <Stack>
          {redrive.data === undefined ? (
            <Text size="sm">
              {asked.count === 1 ? 'A new task is' : `${asked.count.toLocaleString('en')} new tasks are`} made of the
              same order, for the same account and key, and charged to it at today’s price. A failed task is re-driven
              once at most{asked.count > 100 ? ', and a hundred at a time' : ''}.
            </Text>
          ) : (
            <Outcome outcome={redrive.data} />
          )}
          {redrive.error !== null && <Trouble error={redrive.error} doing="That did not work" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={leave} data-autofocus>
              {redrive.data === undefined ? 'Leave it' : 'Close'}
            </Button>
            {redrive.data === undefined && (
              <Button
                loading={redrive.isPending}
                onClick={() => {
                  redrive.mutate(null);
                }}
              >
                Re-drive
              </Button>
            )}
            {redrive.data !== undefined && redrive.data.next !== null && (
              <Button
                loading={redrive.isPending}
                onClick={() => {
                  redrive.mutate(redrive.data.next);
                }}
              >
                Re-drive the next
              </Button>
            )}
          </Group>
        </Stack>
      </Modal>
    </>
  );
}

function Outcome({ outcome: { redriven, refused, next } }: { readonly outcome: RedriveOutcome }) {
  const reasons = [...new Set(refused.map(({ message }) => message))];
  return (
    <Stack gap="xs" role="status">
      <Text size="sm">
        {redriven.length === 1 ? 'One task was' : `${redriven.length || 'No'} tasks were`} re-driven.
        {next !== null && ' More are left.'}
      </Text>
      {reasons.length > 0 && (
        <>
          <Text size="sm">{refused.length === 1 ? 'One was not:' : `${refused.length} were not:`}</Text>
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
