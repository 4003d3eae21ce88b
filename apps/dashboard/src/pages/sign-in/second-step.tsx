import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { BusyButton } from '../../parts/busy.tsx';
import { RequestError, send } from '../../api/request.ts';
import type { Session } from '../../api/types.ts';
import { Outside, useEnter } from './outside.tsx';
import { SignInTrouble } from '../../parts/sign-in-trouble.tsx';

interface SecondStepProps {
  /** Returns to the password. */
  readonly onBack: () => void;
}

/** Asks for the code after the password. */
export function SecondStep({ onBack }: SecondStepProps) {
  const enter = useEnter();
  const form = useForm({ initialValues: { code: '' } });
  const give = useMutation({
    mutationFn: ({ code }: typeof form.values) => send<Session>('POST', '/sign-in/code', { code: code.trim() }),
    onSuccess: enter,
  });
  const isOver = give.error instanceof RequestError && give.error.code === 'not_signed_in';
  return (
    <Outside title="Two-factor authentication" about="Enter the code from your authenticator app.">
      <form onSubmit={form.onSubmit((values) => give.mutate(values))}>
        <Stack>
          {give.error !== null && <SignInTrouble error={give.error} />}
          <TextInput
            label="Code"
            description="Six digits, or a recovery code"
            autoComplete="one-time-code"
            required
            autoFocus
            maxLength={40}
            {...form.getInputProps('code')}
          />
          <BusyButton type="submit" busy={give.isPending} disabled={isOver} fullWidth mt="xs">
            Continue
          </BusyButton>
          <Button variant="default" onClick={onBack} fullWidth>
            Back to sign-in
          </Button>
          <Text size="sm" c="dimmed">
            Lost your app and your recovery codes? Ask an owner or admin to reset two-factor authentication.
          </Text>
        </Stack>
      </form>
    </Outside>
  );
}
