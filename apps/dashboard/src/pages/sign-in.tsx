import { Button, Code, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { signInQuery } from '../api/queries.ts';
import { send } from '../api/request.ts';
import type { Session } from '../api/types.ts';
import { Trouble } from '../parts/page.tsx';
import { Outside, useEnter } from './outside.tsx';

export function SignInPage() {
  const { data } = useQuery(signInQuery);
  const enter = useEnter();
  const form = useForm({ initialValues: { email: '', password: '' } });
  const signIn = useMutation({
    mutationFn: (values: { email: string; password: string }) => send<Session>('POST', '/sign-in', values),
    onSuccess: enter,
  });
  if (data?.first_run === true) return <WaitingForFirstRun />;
  return (
    <Outside title="Sign in" about="Welcome back to the darkroom.">
      <form
        onSubmit={form.onSubmit((values) => {
          signIn.mutate(values);
        })}
      >
        <Stack>
          {signIn.error !== null && <Trouble error={signIn.error} doing="You are not signed in" />}
          <TextInput
            label="E-mail"
            type="email"
            autoComplete="username"
            required
            autoFocus
            {...form.getInputProps('email')}
          />
          <PasswordInput
            label="Password"
            autoComplete="current-password"
            required
            {...form.getInputProps('password')}
          />
          <Button type="submit" loading={signIn.isPending} fullWidth mt="xs">
            Sign in
          </Button>
          {data?.oidc === true && (
            <>
              <Divider label="or" />
              <Button component="a" href="/console/api/oidc/start" variant="default" fullWidth>
                Sign in with your organisation
              </Button>
            </>
          )}
        </Stack>
      </form>
    </Outside>
  );
}

/** Nobody has an account yet: the way in is the link that the service printed. */
function WaitingForFirstRun() {
  return (
    <Outside title="Almost there" about="This Darkroom has no administrator yet.">
      <Stack gap="sm">
        <Text size="sm">
          Open the one-time link that the service printed when it started. If it is gone, have a new one printed on the
          machine that runs Darkroom:
        </Text>
        <Code block>npm run admin -- link</Code>
      </Stack>
    </Outside>
  );
}
