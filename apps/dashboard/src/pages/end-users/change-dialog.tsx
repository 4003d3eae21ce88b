import { Text, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { END_USER_VIEWS } from '../../api/end-users.ts';
import { send } from '../../api/request.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useSave } from '../../parts/use-save.ts';

export type NewState = 'none' | 'flagged' | 'blocked';

interface Words {
  readonly title: string;
  readonly action: string;
  readonly effect: string;
  readonly done: string;
  readonly failed: string;
}

const WORDS: Readonly<Record<NewState, Words>> = {
  blocked: {
    title: 'Block end user',
    action: 'Block',
    effect:
      'Within 2 seconds, their requests get a 403, and their waiting tasks fail and are refunded when their turn comes. Running ones finish.',
    done: 'End user blocked.',
    failed: 'Could not block the end user',
  },
  flagged: {
    title: 'Flag end user',
    action: 'Flag',
    effect: 'Their requests go on. They stay on this list until the flag is removed.',
    done: 'End user flagged.',
    failed: 'Could not flag the end user',
  },
  none: {
    title: 'Clear end user',
    action: 'Clear',
    effect: 'Within 2 seconds, their requests are accepted again. Refusals until now no longer count for a pause.',
    done: 'End user cleared.',
    failed: 'Could not clear the end user',
  },
};

interface ChangeDialogProps {
  /** As it is recorded. */
  readonly name: string;
  readonly to: NewState;
  readonly onClose: () => void;
}

/** Confirms a new state of an end user, with a reason for the audit log. */
export function ChangeDialog({ name, to, onClose }: ChangeDialogProps) {
  const words = WORDS[to];
  const form = useForm({ initialValues: { reason: '' } });
  const save = useSave({
    send: ({ reason }: { reason: string }) =>
      send('POST', '/end-users/state', {
        end_user: name,
        state: to,
        ...(reason.trim() !== '' && { reason: reason.trim() }),
      }),
    stale: END_USER_VIEWS,
    done: words.done,
    after: onClose,
  });
  return (
    <FormDialog
      title={words.title}
      action={words.action}
      save={save}
      doing={words.failed}
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {name}
      </Text>
      <Text size="sm">{words.effect}</Text>
      <Textarea
        label="Reason"
        description="Optional; kept in the audit log"
        data-autofocus
        maxLength={500}
        autosize
        minRows={2}
        {...form.getInputProps('reason')}
      />
    </FormDialog>
  );
}
