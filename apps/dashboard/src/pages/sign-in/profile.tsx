import { Badge, Box, Group, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { BusyButton } from '../../parts/busy.tsx';
import { queryClient, sessionQuery, signInQuery, useSession } from '../../api/queries.ts';
import { get, RequestError, send } from '../../api/request.ts';
import type { Session, Sessions } from '../../api/types.ts';
import { browserOf } from '../../parts/browser-of.ts';
import { fromNow } from '../../parts/format.ts';
import { NewPassword, newPasswordProblem, refusedPassword } from '../../parts/new-password.tsx';
import { PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { Passkeys } from '../passkeys/passkeys.tsx';
import { TwoFactor } from '../two-factor/two-factor.tsx';
import { PasswordField } from '../../parts/password-field.tsx';
import { LeaveAccount } from './leave-account.tsx';
import { SignInTrouble } from '../../parts/sign-in-trouble.tsx';
import { useSave } from '../../parts/use-save.ts';

const SESSIONS = ['sessions'];

export function ProfilePage() {
  const { person } = useSession();
  const { data: methods } = useQuery(signInQuery);
  return (
    <PageFrame title="Profile" about={`${person.name}, ${person.email}`}>
      <ChangeName />
      <SignInMethods />
      {person.password && methods?.password !== false && (
        <>
          <ChangePassword />
          <TwoFactor />
          <Passkeys />
        </>
      )}
      <Sessions />
      <LeaveAccount />
    </PageFrame>
  );
}

/** The user's sign-in methods. */
function SignInMethods() {
  const { person } = useSession();
  const { data: methods } = useQuery(signInQuery);
  if (!methods?.oidc) return null;
  const withPassword = person.password && methods.password;
  const sentence = person.oidc
    ? `You sign in with ${methods.oidc.name}${withPassword ? ', or with your password' : ''}.`
    : `You sign in with your password. After you sign in once with ${methods.oidc.name} and the same email address, both work.`;
  return (
    <Box className="surface" p="lg" component="section">
      <Title order={2} fz="md" mb="xs">
        Sign-in options
      </Title>
      <Text size="sm">{sentence}</Text>
    </Box>
  );
}

function ChangeName() {
  const { person } = useSession();
  const form = useForm({ initialValues: { name: person.name } });
  const change = useSave({
    send: ({ name }: typeof form.values) => send<Session>('PATCH', '/person', { name: name.trim() }),
    done: 'Name updated.',
    after: (session) => queryClient.setQueryData(sessionQuery.queryKey, session),
  });
  return (
    <Box className="surface" p="lg" component="section">
      <Title order={2} fz="md" mb="sm">
        Name
      </Title>
      <form onSubmit={form.onSubmit((values) => change.mutate(values))}>
        <Stack maw={360}>
          {change.error !== null && <Trouble error={change.error} doing="Could not change your name" />}
          <TextInput
            label="Your name"
            description="Shown to your team"
            autoComplete="name"
            required
            maxLength={100}
            {...form.getInputProps('name')}
          />
          <Group>
            <BusyButton type="submit" busy={change.isPending}>
              Change name
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Box>
  );
}

function ChangePassword() {
  const { person } = useSession();
  const form = useForm({
    initialValues: { current_password: '', password: '' },
    validate: {
      password: newPasswordProblem,
    },
  });
  const change = useSave({
    send: (values: typeof form.values) => send('POST', '/password', values),
    stale: [{ queryKey: SESSIONS }],
    done: 'Password changed. Your other sessions have ended.',
    after: () => form.reset(),
    onError: (failure) => {
      form.setErrors({ current_password: wrongPassword(failure), password: refusedPassword(failure) });
    },
  });
  const isTold = wrongPassword(change.error) !== null || refusedPassword(change.error) !== null;
  return (
    <Box className="surface" p="lg" component="section">
      <Title order={2} fz="md" mb="sm">
        Password
      </Title>
      <form onSubmit={form.onSubmit((values) => change.mutate(values))}>
        <Stack maw={360}>
          {change.error !== null && !isTold && (
            <SignInTrouble error={change.error} doing="Could not change the password" />
          )}
          <PasswordField
            label="Current password"
            autoComplete="current-password"
            required
            {...form.getInputProps('current_password')}
          />
          <NewPassword
            label="New password"
            personal={[person.name, person.email]}
            {...form.getInputProps('password')}
          />
          <Group>
            <BusyButton type="submit" busy={change.isPending}>
              Change password
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Box>
  );
}

/** The message if the current password is wrong; null for any other error. */
function wrongPassword(error: Error | null): string | null {
  return error instanceof RequestError && error.code === 'sign_in_failed' ? error.message : null;
}

function Sessions() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: SESSIONS,
    queryFn: ({ signal }) => get<Sessions>('/sessions', {}, signal),
  });
  const end = useSave({
    send: (id: string) => send('DELETE', `/sessions/${id}`),
    stale: [{ queryKey: SESSIONS }],
    failed: 'Could not end the session',
  });
  return (
    <Box className="surface" component="section">
      <Title order={2} fz="md" p="lg" pb="xs">
        Active sessions
      </Title>
      {isPending && <Rows count={2} />}
      {error !== null && (
        <Box p="lg">
          <Trouble error={error} doing="Could not load sessions" onRetry={() => void refetch()} />
        </Box>
      )}
      {data !== undefined && (
        <Table horizontalSpacing="lg">
          <Table.Tbody>
            {data.data.map((session) => (
              <Table.Tr key={session.id}>
                <Table.Td>
                  <Group gap="xs">
                    <Text size="sm" fw={600}>
                      {browserOf(session.user_agent)}
                    </Text>
                    {session.current && (
                      <Badge size="sm" variant="default" tt="none">
                        this session
                      </Badge>
                    )}
                  </Group>
                  <Text size="xs" c="dimmed">
                    Signed in {fromNow(session.created_at)}, last seen {fromNow(session.last_seen_at)}
                  </Text>
                </Table.Td>
                <Table.Td ta="right">
                  {!session.current && (
                    <BusyButton
                      variant="default"
                      size="xs"
                      busy={end.isPending && end.variables === session.id}
                      onClick={() => end.mutate(session.id)}
                    >
                      End session
                    </BusyButton>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Box>
  );
}
