import { Button, Group, Modal, NumberInput, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { keysQuery, queryClient } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import type { ApiKey, NewKey } from '../../api/types.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Trouble } from '../../parts/page.tsx';

const OVERLAP_HOURS = 24;
const MAX_OVERLAP_HOURS = 24 * 30;

interface RotateProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  readonly onMade: (made: NewKey) => void;
}

/** A new secret; the old one goes on working for a while, so that programs can be changed without haste. */
export function RotateKey({ apiKey, onClose, onMade }: RotateProps) {
  const [hours, setHours] = useState(OVERLAP_HOURS);
  const rotate = useMutation({
    mutationFn: () => send<NewKey>('POST', `/keys/${apiKey.id}/rotate`, { overlap_hours: hours }),
    onSuccess: async (made) => {
      await queryClient.invalidateQueries(keysQuery);
      onMade(made);
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Rotate ${apiKey.name}`}>
      <Stack>
        <Text size="sm">
          You get a new secret with the same settings. The old one goes on working for a while, so that programs can be
          changed without an outage.
        </Text>
        <NumberInput
          label="Hours that the old secret still works"
          description="0 ends it at once"
          min={0}
          max={MAX_OVERLAP_HOURS}
          allowDecimal={false}
          value={hours}
          onChange={(value) => {
            setHours(Number(value));
          }}
        />
        {rotate.error !== null && <Trouble error={rotate.error} doing="The key was not rotated" />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            loading={rotate.isPending}
            onClick={() => {
              rotate.mutate();
            }}
          >
            Rotate
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

export function RevokeKey({ apiKey, onClose }: { readonly apiKey: ApiKey; readonly onClose: () => void }) {
  const revoke = useMutation({
    mutationFn: () => send('POST', `/keys/${apiKey.id}/revoke`),
    onSuccess: async () => {
      await queryClient.invalidateQueries(keysQuery);
      notifications.show({ color: 'green', message: `${apiKey.name} is revoked.` });
      onClose();
    },
  });
  return (
    <Confirm
      opened
      title={`Revoke ${apiKey.name}?`}
      action="Revoke the key"
      busy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => {
        revoke.mutate();
      }}
      onClose={onClose}
    >
      Programs that use it are refused from now on, with 401. This cannot be taken back; tasks that were accepted go on.
    </Confirm>
  );
}
