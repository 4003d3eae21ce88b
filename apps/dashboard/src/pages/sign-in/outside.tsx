import { Box, Center, Paper, Stack, Text, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent, type ReactNode } from 'react';
import { queryClient, sessionQuery } from '../../api/queries.ts';
import { get } from '../../api/request.ts';
import type { Session } from '../../api/types.ts';
import { SchemeSwitch } from '../../app/scheme.tsx';
import { Mark } from '../../parts/logo.tsx';

/** Opens the console with a new session. */
export function useEnter() {
  const navigate = useNavigate();
  return async (session: Session) => {
    queryClient.clear();
    queryClient.setQueryData(sessionQuery.queryKey, session);
    await navigate({ to: '/' });
  };
}

/** Opens the console once the user has signed in in another tab and comes back to this one. */
export function useEnterFromOtherTab(): void {
  const enter = useEnter();
  const look = useEffectEvent(async () => {
    const session = await get<Session>('/session').catch(() => null);
    if (session !== null) await enter(session);
  });
  useEffect(() => {
    const listen = () => void look();
    addEventListener('focus', listen);
    return () => removeEventListener('focus', listen);
  }, []);
}

interface OutsideProps {
  readonly title: string;
  readonly about: string;
  readonly children: ReactNode;
}

/** The layout of the sign-in pages. */
export function Outside({ title, about, children }: OutsideProps) {
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
