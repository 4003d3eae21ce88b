import { Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { keysQuery, queryClient } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import type { ApiKey, NewKey } from '../../api/types.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { OverlapField, overlapSentence, USUAL_OVERLAP } from '../../parts/overlap-field.tsx';

interface RotateProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  readonly onCreated: (newKey: NewKey) => void;
}

/** Creates a new secret; the old one keeps working for some hours, so that clients can be updated. */
export function RotateKey({ apiKey, onClose, onCreated }: RotateProps) {
  const [hours, setHours] = useState<number | string>(USUAL_OVERLAP);
  const rotate = useMutation({
    mutationFn: () => send<NewKey>('POST', `/keys/${apiKey.id}/rotate`, { overlap_hours: Number(hours) }),
    onSuccess: async (newKey) => {
      await queryClient.invalidateQueries(keysQuery);
      onCreated(newKey);
    },
  });
  return (
    <FormDialog
      title={`Rotate “${apiKey.name}”`}
      action="Rotate key"
      busy={rotate.isPending}
      error={rotate.error}
      doing="Could not rotate the key"
      onSubmit={() => rotate.mutate()}
      onClose={onClose}
    >
      <Text size="sm">You get a new secret with the same settings. {overlapSentence(hours)}</Text>
      <OverlapField label="Hours the old secret keeps working" hours={hours} onChange={setHours} />
    </FormDialog>
  );
}

export function RevokeKey({ apiKey, onClose }: { readonly apiKey: ApiKey; readonly onClose: () => void }) {
  const revoke = useMutation({
    mutationFn: () => send('POST', `/keys/${apiKey.id}/revoke`),
    onSuccess: async () => {
      await queryClient.invalidateQueries(keysQuery);
      notifications.show({ color: 'green', message: `Key “${apiKey.name}” is revoked.` });
      onClose();
    },
  });
  return (
    <Confirm
      opened
      title={`Revoke “${apiKey.name}”?`}
      action="Revoke key"
      busy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      Apps that use this key are rejected immediately (HTTP 401). Tasks already accepted will finish. You can’t undo
      this.
    </Confirm>
  );
}
