import { Alert, Box, Button, Code, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useEffect, type ReactNode } from 'react';
import { RequestError } from '../api/request.ts';
import type { Ability } from '../api/types.ts';
import { IconAlertTriangle, IconSearch } from '@tabler/icons-react';

interface PageProps {
  readonly title: string;
  /** The title is user content, which gets one line. */
  readonly named?: boolean;
  readonly about?: ReactNode;
  /** Breadcrumbs, for a page that is not in the menu. */
  readonly trail?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function PageFrame({ title, named = false, about, trail, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Darkroom`;
  }, [title]);
  return (
    <Stack gap="lg" maw={1240} mx="auto">
      <div className="page-head">
        <div>
          {trail}
          <Title order={1} {...(named ? { lineClamp: 1, className: 'named' } : {})}>
            {title}
          </Title>
        </div>
        {about !== undefined && (
          <Text component="div" c="dimmed" maw={640} className="page-about">
            {about}
          </Text>
        )}
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </div>
      {children}
    </Stack>
  );
}

interface EmptyProps {
  readonly icon: ReactNode;
  readonly title: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

/** An empty state: says why, and what to do next. */
export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <Stack align="center" gap="xs" py={56} px="md" ta="center">
      <Box className="safelight">{icon}</Box>
      <Text fw={600} fz="lg">
        {title}
      </Text>
      <Text c="dimmed" maw={420}>
        {children}
      </Text>
      {action !== undefined && <Box mt="sm">{action}</Box>}
    </Stack>
  );
}

interface NotFoundPageProps extends Pick<PageProps, 'title' | 'trail'> {
  readonly heading: string;
  /** A link to go on. */
  readonly action: ReactNode;
  readonly children: ReactNode;
}

/** Shown for a page of something that does not exist. */
export function NotFoundPage({ title, trail, heading, action, children }: NotFoundPageProps) {
  return (
    <PageFrame title={title} trail={trail}>
      <Box className="surface">
        <Empty icon={<IconSearch size={36} />} title={heading} action={action}>
          {children}
        </Empty>
      </Box>
    </PageFrame>
  );
}

interface NoAccessProps {
  readonly title: string;
  readonly icon: ReactNode;
  readonly needs: Ability;
}

/** Shown for a page that the user's role does not include. */
export function NoAccess({ title, icon, needs }: NoAccessProps) {
  const isForOperators = needs === 'installation.manage';
  const isForAdmins = needs === 'team.manage' || needs === 'audit.read' || needs === 'alerts.manage';
  return (
    <PageFrame title={title}>
      <Box className="surface">
        <Empty icon={icon} title={isForOperators ? 'Operators only' : 'No access'}>
          {isForOperators && 'This page covers the whole installation. Only its operators can open it.'}
          {isForAdmins && 'Only owners and admins can open this page.'}
          {!isForOperators &&
            !isForAdmins &&
            'Your role doesn’t include this page. Ask an owner or admin to change your role.'}
        </Empty>
      </Box>
    </PageFrame>
  );
}

interface TroubleProps {
  readonly error: Error;
  readonly doing: string;
  readonly onRetry?: () => void;
}

/** What failed and why, with the request id for the operator. */
export function Trouble({ error, doing, onRetry }: TroubleProps) {
  const requestId = error instanceof RequestError ? error.requestId : null;
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle size={18} />} title={doing} role="alert">
      <Text size="sm">{error.message}</Text>
      {requestId !== null && (
        <Text size="xs" mt={6}>
          Request <Code>{requestId}</Code>
        </Text>
      )}
      {onRetry !== undefined && (
        <Button mt="sm" size="xs" variant="default" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

export function Rows({ count = 5, height = 44 }: { readonly count?: number; readonly height?: number }) {
  return (
    <Stack gap="sm" p="md" role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: count }, (_, index) => (
        <Skeleton key={index} height={height} radius="md" />
      ))}
    </Stack>
  );
}
