import { Box, Button, Code, Collapse, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { queryClient } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { secretsQuery, type WebhookSecret, type WebhookSecrets } from '../../api/webhooks.ts';
import { CodeTabs, CopyTextButton } from '../../parts/copy.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { fromNow, fullTime } from '../../parts/format.ts';
import { OverlapField, overlapSentence, USUAL_OVERLAP } from '../../parts/overlap-field.tsx';
import { Rows, Trouble } from '../../parts/page.tsx';
import { SectionTitle } from '../../parts/section-title.tsx';
import { VERIFY_SNIPPETS } from '../../parts/verify-snippets.ts';
import { useSave } from '../../parts/use-save.ts';

/** How receivers verify events: code for everyone, the secret for admins. */
export function WebhookVerification({ isAdmin }: { readonly isAdmin: boolean }) {
  const [withCode, { toggle }] = useDisclosure(false);
  const [withSecret, { open, close }] = useDisclosure(false);
  const [rotating, rotation] = useDisclosure(false);
  return (
    <Box className="surface" component="section" p="md" aria-label="Verification">
      <Stack gap="sm">
        <SectionTitle
          about={
            isAdmin
              ? 'Every event is signed with your account’s secret. Store it where only your app can read it.'
              : 'Every event is signed with your account’s secret, which owners and admins can see.'
          }
          actions={
            isAdmin && (
              <Group gap="xs">
                <Button variant="default" onClick={withSecret ? close : open} aria-expanded={withSecret}>
                  {withSecret ? 'Hide secret' : 'Show secret'}
                </Button>
                <Button variant="default" onClick={rotation.open}>
                  Rotate
                </Button>
              </Group>
            )
          }
        >
          Signing secret
        </SectionTitle>
        {withSecret && <Secrets />}
        <Group>
          <UnstyledButton className="fold" aria-expanded={withCode} onClick={toggle}>
            {withCode ? 'Hide sample code' : 'Show sample code'}
          </UnstyledButton>
        </Group>
        <Collapse expanded={withCode}>{withCode && <CodeTabs codes={VERIFY_SNIPPETS} />}</Collapse>
      </Stack>
      {rotating && (
        <RotateSecret
          onClose={rotation.close}
          onRotated={() => {
            rotation.close();
            open();
          }}
        />
      )}
    </Box>
  );
}

function Secrets() {
  const { data, error, isPending, refetch } = useQuery(secretsQuery);
  if (isPending) return <Rows count={1} />;
  if (error !== null) {
    return <Trouble error={error} doing="Could not load the secret" onRetry={() => void refetch()} />;
  }
  const [current, old] = data.data;
  return (
    <Stack gap="xs">
      {current !== undefined && (
        <>
          <Group gap="sm" align="stretch">
            <Code
              block
              flex={1}
              miw={240}
              fz="sm"
              data-testid="webhook-secret"
              style={{ overflowWrap: 'anywhere', whiteSpace: 'normal' }}
            >
              {current.secret}
            </Code>
            <CopyTextButton value={current.secret} label="Copy" />
          </Group>
          <Text size="xs" c="dimmed" title={fullTime(current.created_at)}>
            Created {fromNow(current.created_at)}
          </Text>
        </>
      )}
      {old !== undefined && <OldSecret secret={old} />}
    </Stack>
  );
}

function OldSecret({ secret: { expires_at: end } }: { readonly secret: WebhookSecret }) {
  if (end === null) return null;
  return (
    <Text size="sm">
      The previous secret works until {fullTime(end)}. Until then, every event carries both signatures, so either secret
      verifies it.
    </Text>
  );
}

interface RotateProps {
  readonly onClose: () => void;
  readonly onRotated: () => void;
}

function RotateSecret({ onClose, onRotated }: RotateProps) {
  const [hours, setHours] = useState<number | string>(USUAL_OVERLAP);
  const rotate = useSave({
    send: () => send<WebhookSecrets>('POST', '/webhooks/secrets/rotate', { overlap_hours: Number(hours) }),
    done: 'New signing secret created.',
    after: (secrets) => {
      queryClient.setQueryData(secretsQuery.queryKey, secrets);
      onRotated();
    },
  });
  return (
    <FormDialog
      title="Rotate signing secret"
      action="Rotate secret"
      save={rotate}
      doing="Could not rotate the secret"
      onSubmit={() => rotate.mutate()}
      onClose={onClose}
    >
      <Text size="sm">
        Events are signed with the new secret. {overlapSentence(hours)} At most two secrets are valid at a time, so one
        that is already expiring ends now.
      </Text>
      <OverlapField label="Hours the old secret keeps working" hours={hours} onChange={setHours} />
    </FormDialog>
  );
}
