import { Select, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { ALERT_VIEWS, type AlertChannel } from '../../api/alerts.ts';
import { RequestError, send } from '../../api/request.ts';
import { CHANNEL_NAMES } from '../../parts/alert-words.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useSave } from '../../parts/use-save.ts';

const NO_EMAIL = 'To send email, an operator has to set SMTP_URL.';
const HELP: Readonly<Record<AlertChannel['kind'], { label: string; description: string; placeholder: string }>> = {
  webhook: {
    label: 'URL',
    description: 'A public https:// address. Alerts are signed like webhooks.',
    placeholder: 'https://my-app.example/alerts',
  },
  slack: {
    label: 'URL',
    description: 'An incoming webhook URL from Slack or a compatible tool',
    placeholder: 'https://hooks.slack.com/services/...',
  },
  email: {
    label: 'Email address',
    description: 'A mailbox your team reads',
    placeholder: 'team@example.org',
  },
};

interface Fields {
  kind: AlertChannel['kind'];
  address: string;
}

interface ChannelFormProps {
  /** The kinds of channels that the installation supports. */
  readonly kinds: readonly AlertChannel['kind'][];
  readonly onClose: () => void;
}

/** Adds a channel. */
export function ChannelForm({ kinds, onClose }: ChannelFormProps) {
  const form = useForm<Fields>({
    initialValues: { kind: 'slack', address: '' },
    validate: { address: (address) => (address.trim() === '' ? 'Enter an address' : null) },
  });
  const save = useSave({
    send: ({ kind, address }: Fields) => send('POST', '/alerts/channels', { kind, address: address.trim() }),
    stale: ALERT_VIEWS,
    done: 'Channel added. Send it a test alert.',
    after: onClose,
    onError: (error) => {
      if (error instanceof RequestError && error.param === 'address') form.setFieldError('address', error.message);
    },
  });
  return (
    <FormDialog
      title="Add channel"
      ownRules
      action="Add channel"
      save={form.errors['address'] === undefined ? save : { ...save, error: null }}
      doing="Could not add the channel"
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      <Select
        label="Kind"
        description={kinds.includes('email') ? undefined : NO_EMAIL}
        data={kinds.map((value) => ({ value, label: CHANNEL_NAMES[value] }))}
        allowDeselect={false}
        {...form.getInputProps('kind')}
      />
      <TextInput {...HELP[form.values.kind]} required maxLength={2_048} {...form.getInputProps('address')} />
    </FormDialog>
  );
}
