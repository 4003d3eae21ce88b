import { Checkbox, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { RequestError, send } from '../../api/request.ts';
import { WEBHOOK_VIEWS, type Endpoint } from '../../api/webhooks.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { EVENTS } from '../../parts/webhook-words.ts';
import { useSave } from '../../parts/use-save.ts';

interface EndpointFormProps {
  readonly existing?: Endpoint;
  readonly onClose: () => void;
}

interface Fields {
  url: string;
  events: string[];
}

/** Adds an endpoint, or changes its events. */
export function EndpointForm({ existing, onClose }: EndpointFormProps) {
  const form = useForm<Fields>({
    initialValues: { url: existing?.url ?? '', events: [...(existing?.events ?? EVENTS.map(({ value }) => value))] },
    validate: {
      url: (url) => (url.trim() === '' ? 'Enter the URL of your app' : null),
      events: (events) => (events.length === 0 ? 'Select at least one event' : null),
    },
  });
  const save = useSave({
    send: ({ url, events }: Fields) =>
      existing === undefined
        ? send('POST', '/webhooks/endpoints', { url: url.trim(), events })
        : send('PATCH', `/webhooks/endpoints/${existing.id}`, { events }),
    stale: WEBHOOK_VIEWS,
    done: existing === undefined ? 'Endpoint added. Send it a test event.' : 'Events updated.',
    after: onClose,
    onError: (error) => {
      if (error instanceof RequestError && error.param === 'url') form.setFieldError('url', error.message);
    },
  });
  return (
    <FormDialog
      title={existing === undefined ? 'Add endpoint' : 'Edit events'}
      ownRules
      action={existing === undefined ? 'Add endpoint' : 'Save'}
      save={form.errors['url'] === undefined ? save : { ...save, error: null }}
      doing="Could not save the endpoint"
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      {existing === undefined ? (
        <TextInput
          label="URL"
          description="A public https:// address of your app. To test on your own machine, use an https:// tunnel."
          placeholder="https://my-app.example/hooks"
          type="url"
          required
          data-autofocus
          maxLength={2_048}
          {...form.getInputProps('url')}
        />
      ) : (
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {existing.url}
        </Text>
      )}
      <Checkbox.Group label="Events" {...form.getInputProps('events')}>
        <Stack gap="xs" mt="xs">
          {EVENTS.map(({ value, label }) => (
            <Checkbox key={value} value={value} label={label} />
          ))}
        </Stack>
      </Checkbox.Group>
    </FormDialog>
  );
}
