import {
  Anchor,
  Box,
  Button,
  Center,
  Code,
  Divider,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { queryClient, sessionQuery, signInQuery } from '../api/queries.ts';
import { RequestError, send } from '../api/request.ts';
import type { Session } from '../api/types.ts';
import { SchemeSwitch } from '../app/scheme.tsx';
import { Mark } from '../parts/icons.tsx';
import { Trouble } from '../parts/page.tsx';

const MIN_PASSWORD = 10;

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

export function FirstRunPage() {
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get('token') ?? '');
  const enter = useEnter();
  const form = useForm({
    initialValues: { name: '', email: '', password: '' },
    validate: {
      password: (value) => (value.length < MIN_PASSWORD ? `At least ${MIN_PASSWORD} characters` : null),
    },
  });
  // The link is a secret: it stays neither in the address bar nor in the history.
  useEffect(() => {
    history.replaceState(history.state, '', location.pathname);
  }, []);
  const create = useMutation({
    mutationFn: (values: { name: string; email: string; password: string }) =>
      send<Session>('POST', '/first-admin', { token, ...values }),
    onSuccess: enter,
  });
  if (token === '')
    return (
      <Outside title="This link is not complete" about="The one-time link ends in a long token, and this one has none.">
        <Text size="sm">
          Copy the whole link, or have a new one printed with <Code>npm run admin -- link</Code>.{' '}
          <Anchor href="/console/sign-in">Sign in instead</Anchor>
        </Text>
      </Outside>
    );
  const used = create.error instanceof RequestError && create.error.status === 410;
  return (
    <Outside title="Welcome to Darkroom" about="Make your account. You will be the administrator of this installation.">
      <form
        onSubmit={form.onSubmit((values) => {
          create.mutate(values);
        })}
      >
        <Stack>
          {create.error !== null && (
            <Trouble
              error={create.error}
              doing={used ? 'This link was used or has expired' : 'The account was not made'}
            />
          )}
          <TextInput label="Your name" autoComplete="name" required autoFocus {...form.getInputProps('name')} />
          <TextInput label="E-mail" type="email" autoComplete="username" required {...form.getInputProps('email')} />
          <PasswordInput
            label="Password"
            description={`At least ${MIN_PASSWORD} characters`}
            autoComplete="new-password"
            required
            {...form.getInputProps('password')}
          />
          <Button type="submit" loading={create.isPending} fullWidth mt="xs">
            Create the account
          </Button>
        </Stack>
      </form>
    </Outside>
  );
}

/** Into the console with a fresh session. */
function useEnter() {
  const navigate = useNavigate();
  return async (session: Session) => {
    queryClient.clear();
    queryClient.setQueryData(sessionQuery.queryKey, session);
    await navigate({ to: '/' });
  };
}

interface OutsideProps {
  readonly title: string;
  readonly about: string;
  readonly children: ReactNode;
}

/** The frame of the pages before the sign-in. */
function Outside({ title, about, children }: OutsideProps) {
  useEffect(() => {
    document.title = `${title} · Darkroom`;
  }, [title]);
  return (
    <Center mih="100dvh" p="md" component="main">
      <Box pos="fixed" top={12} right={12}>
        <SchemeSwitch />
      </Box>
      <Box w="100%" maw={400}>
        <Stack align="center" gap={6} mb="lg" ta="center">
          <Mark size={44} />
          <Title order={1} mt="xs">
            {title}
          </Title>
          <Text c="dimmed">{about}</Text>
        </Stack>
        <Paper className="surface" p="xl">
          {children}
        </Paper>
      </Box>
    </Center>
  );
}
