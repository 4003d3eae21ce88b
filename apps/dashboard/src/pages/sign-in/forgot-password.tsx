import { Anchor, Code, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { BusyButton } from '../../parts/busy.tsx';
import { signInQuery } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { Trouble } from '../../parts/page.tsx';
import { Outside } from './outside.tsx';

/** How to get a link for a new password: by email, or from an admin. */
export function ForgotPasswordPage() {
  const { data, error, refetch } = useQuery(signInQuery);
  if (data?.email === true) return <ByEmail />;
  return (
    <Outside title="Reset password" about={data === undefined ? '' : 'This installation sends no email.'}>
      <Stack gap="sm">
        {error !== null && (
          <Trouble error={error} doing="Could not load sign-in options" onRetry={() => void refetch()} />
        )}
        {data !== undefined && (
          <>
            <Text size="sm">Ask an owner or admin of your account for a reset link.</Text>
            <Text size="sm">
              No one else can create one? Print it on the machine that runs Darkroom, with your email address:
            </Text>
            <Code block style={{ whiteSpace: 'pre-wrap' }}>
              npm run admin -- reset-password &lt;email&gt;
            </Code>
            <Text size="sm">With Docker Compose:</Text>
            <Code block style={{ whiteSpace: 'pre-wrap' }}>
              docker compose run --rm migrate admin reset-password &lt;email&gt;
            </Code>
          </>
        )}
        <BackToSignIn />
      </Stack>
    </Outside>
  );
}

function ByEmail() {
  const form = useForm({ initialValues: { email: '' } });
  const ask = useMutation({
    mutationFn: ({ email }: typeof form.values) => send('POST', '/forgot-password', { email: email.trim() }),
  });
  if (ask.isSuccess) {
    return (
      <Outside
        title="Check your email"
        about={`If ${form.values.email.trim()} belongs to a user, a link is on its way.`}
      >
        <Stack gap="sm" role="status">
          <Text size="sm">
            The link works once and expires in 24 hours. If nothing arrives within a few minutes, look in your spam
            folder, check the address, or ask an owner or admin for a link.
          </Text>
          <BackToSignIn />
        </Stack>
      </Outside>
    );
  }
  return (
    <Outside title="Reset password" about="We email you a link to choose a new password.">
      <form onSubmit={form.onSubmit((values) => ask.mutate(values))}>
        <Stack>
          {ask.error !== null && <Trouble error={ask.error} doing="Could not send the link" />}
          <TextInput
            label="Email"
            type="email"
            autoComplete="username"
            required
            autoFocus
            {...form.getInputProps('email')}
          />
          <BusyButton type="submit" busy={ask.isPending} fullWidth mt="xs">
            Email me a link
          </BusyButton>
          <BackToSignIn />
        </Stack>
      </form>
    </Outside>
  );
}

function BackToSignIn() {
  return (
    <Anchor component={Link} to="/sign-in" size="sm" underline="always">
      Back to sign-in
    </Anchor>
  );
}
