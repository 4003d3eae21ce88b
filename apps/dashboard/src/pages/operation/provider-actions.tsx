import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { BusyButton } from '../../parts/busy.tsx';
import { providersQuery, type Tried } from '../../api/operation.ts';
import { queryClient } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { useSave } from '../../parts/use-save.ts';

const addressOf = (name: string, action: string): string => `/providers/${encodeURIComponent(name)}/${action}`;

export function DrainButton({ name }: { readonly name: string }) {
  const [asking, ask] = useDisclosure(false);
  const [reason, setReason] = useState('');
  const drain = useMutation({
    mutationFn: () => send('POST', addressOf(name, 'drain'), reason.trim() === '' ? {} : { reason: reason.trim() }),
    onSuccess: async () => {
      ask.close();
      setReason('');
      await queryClient.invalidateQueries(providersQuery);
    },
  });
  return (
    <>
      <Button variant="default" size="xs" onClick={ask.open} aria-label={`Drain ${name}`}>
        Drain
      </Button>
      <Confirm opened={asking} title={`Drain ${name}?`} action="Drain provider" save={drain} onClose={ask.close}>
        <Stack gap="sm">
          <Text size="sm">
            The provider gets no new calls until you resume it. Running calls finish. Tasks go to other providers of
            their model, or wait.
          </Text>
          <TextInput
            label="Reason"
            description="Shown to other operators"
            maxLength={200}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
        </Stack>
      </Confirm>
    </>
  );
}

/** Ends the pause of a provider or server: the next call tests it now. */
export function TryButton({ name }: { readonly name: string }) {
  const tryNow = useSave({
    send: () => send<Tried>('POST', addressOf(name, 'try')),
    stale: [providersQuery],
    done: ({ paused, waiting }) => triedText(name, paused, waiting),
    failed: 'Could not end the pause',
  });
  return (
    <BusyButton size="xs" busy={tryNow.isPending} aria-label={`Try now: ${name}`} onClick={() => tryNow.mutate()}>
      Try now
    </BusyButton>
  );
}

function triedText(name: string, paused: boolean, waiting: number): string {
  if (!paused) return `${name} is no longer paused.`;
  if (waiting === 0) return `The pause of ${name} has ended. The next call tests it.`;
  return `The pause of ${name} has ended. ${waiting === 1 ? 'A waiting task is' : `${waiting} waiting tasks are`} calling it now.`;
}

export function ResumeButton({ name }: { readonly name: string }) {
  const resume = useSave({
    send: () => send('POST', addressOf(name, 'resume')),
    stale: [providersQuery],
    done: `${name} is accepting requests again.`,
    failed: 'Could not resume the provider',
  });
  return (
    <BusyButton size="xs" busy={resume.isPending} aria-label={`Resume ${name}`} onClick={() => resume.mutate()}>
      Resume
    </BusyButton>
  );
}
