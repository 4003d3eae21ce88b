import { Anchor, Divider, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { BusyButton } from '../../parts/busy.tsx';
import { sessionQuery } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import type { Session } from '../../api/types.ts';
import { keepInvitation } from '../../app/return-address.ts';
import { Trouble } from '../../parts/page.tsx';
import { useEnter } from './outside.tsx';

/** Accepts an invitation with the current sign-in, or after signing in, so that one sign-in opens several accounts. */
export function JoinSignedIn({ token }: { readonly token: string }) {
  const enter = useEnter();
  const navigate = useNavigate();
  const { data: session, isPending } = useQuery({ ...sessionQuery, retry: false });
  const join = useMutation({ mutationFn: () => send<Session>('POST', '/person/join', { token }), onSuccess: enter });
  if (isPending) return null;
  if (session === undefined)
    return (
      <Text size="sm">
        Already have an account?{' '}
        <Anchor
          component="button"
          type="button"
          size="sm"
          underline="always"
          onClick={() => {
            keepInvitation(token);
            void navigate({ to: '/sign-in' });
          }}
        >
          Sign in to accept
        </Anchor>
      </Text>
    );
  return (
    <Stack gap="sm">
      {join.error !== null && <Trouble error={join.error} doing="Could not join" />}
      <Text size="sm">
        You are signed in as {session.person.name} ({session.person.email}). Join with this sign-in, and switch between
        accounts in the menu.
      </Text>
      <BusyButton busy={join.isPending} onClick={() => join.mutate()} fullWidth>
        Join as {session.person.name}
      </BusyButton>
      <Divider label="or create a separate sign-in" />
    </Stack>
  );
}
