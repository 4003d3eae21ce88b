import { Box, Button, Group, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ACCOUNT_LIMITS, ACCOUNT_LIMIT_NAMES } from '#contract/account-limits.js';
import { useSession } from '../../api/queries.ts';
import { ownAccountQuery } from '../../api/team-queries.ts';
import type { OwnAccount as Account } from '../../api/team-types.ts';
import { CopyIconButton } from '../../parts/copy.tsx';
import { SpentSum } from '../../parts/cost.tsx';
import { Rows, Trouble } from '../../parts/page.tsx';
import { Spend } from '../../parts/spend.tsx';
import { OwnApprovals } from './own-approvals.tsx';
import { RenameAccount } from './rename-account.tsx';
import { RequireTwoFactor } from './require-two-factor.tsx';

/** The team's account. */
export function OwnAccount() {
  const { operator } = useSession();
  const { data, error, refetch } = useQuery(ownAccountQuery);
  const [renaming, setRenaming] = useState(false);
  return (
    <Box className="surface" component="section" p="md">
      <Group justify="space-between" mb="sm">
        <Title order={2} fz="md">
          Account
        </Title>
        {data !== undefined && (
          <Button variant="default" size="xs" onClick={() => setRenaming(true)}>
            Rename
          </Button>
        )}
      </Group>
      {error !== null && <Trouble error={error} doing="Could not load the account" onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Rows count={2} />}
      {data !== undefined && (
        <dl className="facts">
          <dt>Name</dt>
          <dd>{data.name}</dd>
          <dt>ID</dt>
          <dd>
            <Group gap={4} wrap="nowrap">
              <Text span ff="monospace" size="sm" style={{ overflowWrap: 'anywhere' }}>
                {data.id}
              </Text>
              <CopyIconButton value={data.id} label="Copy account ID" />
            </Group>
          </dd>
          <dt>This month</dt>
          <dd>
            <SpentSum sum={data.spend} inline />
          </dd>
          <dt>Budget</dt>
          <dd>
            {data.budget === null ? 'None' : <Spend budget={data.budget} spend={data.spend} />}
            <Text size="xs" c="dimmed" mt={2}>
              {operator ? 'Set it on the Accounts page.' : 'Set by the operator of this installation.'}
            </Text>
          </dd>
          <dt>Limits</dt>
          <dd>{limitsOf(data)}</dd>
          <dt>Approvals</dt>
          <dd>
            <OwnApprovals account={data} />
          </dd>
          <dt className="wide">Two-factor authentication</dt>
          <dd className="wide">
            <RequireTwoFactor account={data} />
          </dd>
        </dl>
      )}
      {renaming && data !== undefined && <RenameAccount name={data.name} onClose={() => setRenaming(false)} />}
    </Box>
  );
}

/** The limits across all keys of the account. */
function limitsOf({ limits, defaults }: Account): string {
  const set = ACCOUNT_LIMIT_NAMES.map((name) => [limits[name] ?? defaults[name], ACCOUNT_LIMITS[name].unit] as const);
  const bound = set.filter(([limit]) => limit > 0).map(([limit, unit]) => `${limit.toLocaleString('en')} ${unit}`);
  return bound.length === 0 ? 'None' : bound.join(' · ');
}
