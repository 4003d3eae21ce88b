import { Button, Group, Text, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { taskQuery, useMay } from '../api/queries.ts';
import { send } from '../api/request.ts';
import type { TaskRow } from '../api/types.ts';
import { BusyButton } from './busy.tsx';
import { FormDialog } from './form-dialog.tsx';
import { useSave } from './use-save.ts';

type HeldTask = Pick<TaskRow, 'id' | 'status' | 'phase'>;

/** Approves or rejects a request that waits for an approval; nothing for any other task, and for those who may not. */
export function DecideTask({ task }: { readonly task: HeldTask }) {
  const may = useMay();
  const [rejecting, reject] = useDisclosure(false);
  const approve = useSave({
    send: () => send('POST', `/tasks/${task.id}/approve`),
    stale: staleOf(task),
    done: 'Request approved.',
    failed: 'Could not approve the request',
  });
  if (task.phase !== 'held' || !may('tasks.approve')) return null;
  return (
    <Group gap="xs" wrap="nowrap">
      <BusyButton size="xs" busy={approve.isPending} onClick={() => approve.mutate()}>
        Approve
      </BusyButton>
      <Button variant="default" size="xs" onClick={reject.open}>
        Reject
      </Button>
      {rejecting && <RejectDialog task={task} onClose={reject.close} />}
    </Group>
  );
}

function RejectDialog({ task, onClose }: { readonly task: HeldTask; readonly onClose: () => void }) {
  const form = useForm({ initialValues: { reason: '' } });
  const save = useSave({
    send: ({ reason }: { reason: string }) =>
      send('POST', `/tasks/${task.id}/reject`, reason.trim() === '' ? {} : { reason: reason.trim() }),
    stale: staleOf(task),
    done: 'Request rejected.',
    after: onClose,
  });
  return (
    <FormDialog
      title="Reject request"
      action="Reject request"
      save={save}
      doing="Could not reject the request"
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      <Text size="sm">No image is generated, and what was reserved for it is refunded.</Text>
      <Textarea
        label="Reason"
        description="Optional; the caller sees it"
        data-autofocus
        maxLength={500}
        autosize
        minRows={2}
        {...form.getInputProps('reason')}
      />
    </FormDialog>
  );
}

function staleOf({ id }: HeldTask) {
  return [{ queryKey: ['approvals'] }, taskQuery(id), { queryKey: ['tasks'] }];
}
