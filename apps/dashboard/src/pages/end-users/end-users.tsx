import { Box, Button, Group, Stack, Text } from '@mantine/core';
import { IconUserShield } from '@tabler/icons-react';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { endUsersQuery, foundEndUsersQuery, labelLimitsQuery, pauseRuleQuery } from '../../api/end-users.ts';
import { Empty, PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { SectionTitle } from '../../parts/section-title.tsx';
import { EndUserTable } from './end-user-table.tsx';
import { LabelLimitsDialog } from './label-limits-dialog.tsx';
import { PauseRuleDialog } from './pause-rule-dialog.tsx';

/** End users that are flagged, paused, or blocked, and those whose requests are refused for their content. */
export function EndUsersPage() {
  const [identifier, search] = useState<string>();
  return (
    <PageFrame
      title="End users"
      about="People behind your applications who are flagged, paused, or blocked, and those whose requests are refused for their content. Updates automatically."
    >
      <Group gap="sm">
        <SearchField
          label="Find an end user"
          placeholder="Identifier, as recorded or as your application sends it"
          text={identifier}
          onChange={search}
        />
        <PauseRuleButton />
        <LimitsButton />
      </Group>
      {identifier === undefined ? <Attention /> : <Found identifier={identifier} />}
    </PageFrame>
  );
}

function Attention() {
  const { data, error, isPending, refetch } = useQuery(endUsersQuery);
  if (error !== null) {
    return <Trouble error={error} doing="Could not load end users" onRetry={() => void refetch()} />;
  }
  return (
    <>
      <Box className="surface" component="section" aria-label="Flagged, paused, or blocked">
        {isPending && <Rows count={3} />}
        {data?.has_more === true && (
          <Text size="sm" px="md" pt="md">
            The latest {data.data.length} are listed. Search for others.
          </Text>
        )}
        {data?.data.length === 0 && (
          <Empty icon={<IconUserShield size={36} />} title="No end user is flagged, paused, or blocked">
            Search for an end user to block them.
          </Empty>
        )}
        {data !== undefined && data.data.length > 0 && <EndUserTable endUsers={data.data} />}
      </Box>
      {data !== undefined && data.most_refused.length > 0 && (
        <Stack component="section" gap="md" aria-label="Most refused">
          <SectionTitle about="Requests of the last 30 days that providers refused for their content.">
            Most refused
          </SectionTitle>
          <Box className="surface">
            <EndUserTable endUsers={data.most_refused} />
          </Box>
        </Stack>
      )}
    </>
  );
}

function Found({ identifier }: { readonly identifier: string }) {
  const { data, error, isPending, refetch } = useQuery(foundEndUsersQuery(identifier));
  if (error !== null) {
    return <Trouble error={error} doing="Could not find the end user" onRetry={() => void refetch()} />;
  }
  return (
    <Stack component="section" gap="md" aria-label="Found">
      <SectionTitle about="The identifier as it is recorded, and the one that keys derive from it, whether they have been used or not.">
        Found
      </SectionTitle>
      <Box className="surface">{isPending ? <Rows count={2} /> : <EndUserTable endUsers={data.data} />}</Box>
    </Stack>
  );
}

function PauseRuleButton() {
  const { data } = useQuery(pauseRuleQuery);
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" disabled={data === undefined} onClick={open}>
        {data?.refusals ? `Pause after ${data.refusals} refusals` : 'Pause automatically'}
      </Button>
      {opened && data !== undefined && <PauseRuleDialog rule={data} onClose={close} />}
    </>
  );
}

function LimitsButton() {
  const { data } = useQuery(labelLimitsQuery);
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" disabled={data === undefined} onClick={open}>
        {data === undefined || data.data.length === 0 ? 'Set limits' : `Limits: ${data.data.length}`}
      </Button>
      {opened && data !== undefined && <LabelLimitsDialog limits={data.data} onClose={close} />}
    </>
  );
}
