import { Text } from '@mantine/core';
import { useState } from 'react';
import { keysQuery } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import type { ApiKey, NewKey } from '../../api/types.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { OverlapField, overlapSentence, USUAL_OVERLAP } from '../../parts/overlap-field.tsx';
import { useSave } from '../../parts/use-save.ts';

interface RotateProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  readonly onCreated: (newKey: NewKey) => void;
}

/** Creates a new secret; the old one keeps working for some hours, so that clients can be updated. */
export function RotateKey({ apiKey, onClose, onCreated }: RotateProps) {
  const [hours, setHours] = useState<number | string>(USUAL_OVERLAP);
  const rotate = useSave({
    send: () => send<NewKey>('POST', `/keys/${apiKey.id}/rotate`, { overlap_hours: Number(hours) }),
    stale: [keysQuery],
    after: onCreated,
  });
  return (
    <FormDialog
      title={`Rotate “${apiKey.name}”`}
      action="Rotate key"
      save={rotate}
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
  const revoke = useSave({
    send: () => send('POST', `/keys/${apiKey.id}/revoke`),
    stale: [keysQuery],
    done: `Key “${apiKey.name}” is revoked.`,
    after: onClose,
  });
  return (
    <Confirm opened title={`Revoke “${apiKey.name}”?`} action="Revoke key" save={revoke} onClose={onClose}>
      Apps that use this key are rejected immediately (HTTP 401). Tasks already accepted will finish. You can’t undo
      this.
    </Confirm>
  );
}
