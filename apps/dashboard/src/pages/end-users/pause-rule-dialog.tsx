import { NumberInput, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { END_USER_VIEWS, type PauseRule } from '../../api/end-users.ts';
import { send } from '../../api/request.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useSave } from '../../parts/use-save.ts';

interface Fields {
  /** Blank: end users are never paused. */
  refusals: number | string;
  window_minutes: number;
  pause_minutes: number;
}

const MAX_MINUTES = 10_080;
const minutes = { min: 1, max: MAX_MINUTES, allowDecimal: false, required: true } as const;

/** Sets after how many refused requests an end user is paused, and for how long. */
export function PauseRuleDialog({ rule, onClose }: { readonly rule: PauseRule; readonly onClose: () => void }) {
  const form = useForm<Fields>({ initialValues: { ...rule, refusals: rule.refusals ?? '' } });
  const save = useSave({
    send: ({ refusals, ...rest }: Fields) =>
      send('PUT', '/end-users/pause-rule', { ...rest, refusals: refusals === '' ? null : Number(refusals) }),
    stale: END_USER_VIEWS,
    done: 'Automatic pause updated.',
    after: onClose,
  });
  return (
    <FormDialog
      title="Pause automatically"
      action="Save"
      save={save}
      doing="Could not save the automatic pause"
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      <Text size="sm">
        An end user whose requests providers keep refusing for their content is paused: their requests get a 403 until
        the pause ends.
      </Text>
      <NumberInput
        label="Refused requests"
        description="Blank = end users are never paused"
        data-autofocus
        min={1}
        max={1_000}
        allowDecimal={false}
        {...form.getInputProps('refusals')}
      />
      <NumberInput label="Within minutes" {...minutes} {...form.getInputProps('window_minutes')} />
      <NumberInput label="Pause for minutes" {...minutes} {...form.getInputProps('pause_minutes')} />
    </FormDialog>
  );
}
