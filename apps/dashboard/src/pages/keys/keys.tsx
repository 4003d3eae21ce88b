import { Box, Button, Group, Menu, Switch, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { keysQuery, useMay } from '../../api/queries.ts';
import type { ApiKey, NewKey } from '../../api/types.ts';
import { dayOf } from '../../parts/format.ts';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { HiddenHead } from '../../parts/hidden-head.tsx';
import { Mark } from '../../parts/mark.tsx';
import { Empty, PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { Spend } from '../../parts/spend.tsx';
import { State } from '../../parts/state.tsx';
import { useOpenedByHash } from '../../parts/use-opened-by-hash.ts';
import { When } from '../../parts/when.tsx';
import { RevokeKey, RotateKey } from './key-actions.tsx';
import { KeyForm } from './key-form.tsx';
import { KeySecret } from './key-secret.tsx';

type Dialog =
  { kind: 'create' } | { kind: 'edit' | 'rotate' | 'revoke'; key: ApiKey } | { kind: 'secret'; newKey: NewKey };

/** Spend and last use change while the page is open. */
const REFRESH_MS = 10_000;

export function KeysPage() {
  const may = useMay();
  const isMember = may('keys.manage') && !may('keys.manage_all');
  const { data, error, isPending, refetch } = useQuery({ ...keysQuery, refetchInterval: REFRESH_MS });
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [withOld, setWithOld] = useState(false);
  const close = () => setDialog(null);
  useOpenedByHash('new', () => may('keys.manage') && setDialog({ kind: 'create' }));
  const showSecret = (newKey: NewKey) => setDialog({ kind: 'secret', newKey });
  const all = data?.data ?? [];
  const shown = withOld ? all : all.filter((key) => stateOf(key) === 'active');
  const old = all.length - all.filter((key) => stateOf(key) === 'active').length;
  const create = may('keys.manage') ? (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setDialog({ kind: 'create' })}>
      Create key
    </Button>
  ) : undefined;
  return (
    <PageFrame
      title="Keys"
      about={`A key lets an app use Darkroom. Give each app its own key, so you can limit and revoke it separately.${
        isMember ? ' You see only the keys you created; owners and admins see all of them.' : ''
      }`}
      actions={all.length > 0 ? create : undefined}
    >
      {error !== null && <Trouble error={error} doing="Could not load keys" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">
          {isPending && <Rows />}
          {!isPending && all.length === 0 && (
            <Empty icon={<IconKey size={36} />} title="No keys yet" action={create}>
              {isMember && 'You haven’t created any keys. '}
              {create !== undefined && 'Create one to get its secret and a ready-to-run request.'}
            </Empty>
          )}
          {all.length > 0 && shown.length === 0 && (
            <Empty icon={<IconKey size={36} />} title="No active keys">
              All keys are revoked or expired. Create a new key, or show the inactive ones below.
            </Empty>
          )}
          {shown.length > 0 && <KeyTable keys={shown} withCreators={!isMember} onAct={setDialog} />}
        </Box>
      )}
      {old > 0 && (
        <Switch
          checked={withOld}
          onChange={(event) => setWithOld(event.currentTarget.checked)}
          label={`Show ${old} revoked or expired ${old === 1 ? 'key' : 'keys'}`}
        />
      )}
      {dialog?.kind === 'create' && <KeyForm onClose={close} onCreated={showSecret} />}
      {dialog?.kind === 'edit' && <KeyForm existing={dialog.key} onClose={close} onCreated={showSecret} />}
      {dialog?.kind === 'rotate' && <RotateKey apiKey={dialog.key} onClose={close} onCreated={showSecret} />}
      {dialog?.kind === 'revoke' && <RevokeKey apiKey={dialog.key} onClose={close} />}
      {dialog?.kind === 'secret' && <KeySecret newKey={dialog.newKey} onClose={close} />}
    </PageFrame>
  );
}

interface KeyTableProps {
  readonly keys: readonly ApiKey[];
  readonly withCreators: boolean;
  readonly onAct: (dialog: Dialog) => void;
}

function KeyTable({ keys, withCreators, onAct }: KeyTableProps) {
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table highlightOnHover horizontalSpacing="md" className="card-rows" __vars={{ '--card-cell': '130px' }}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            {withCreators && <Table.Th className="not-on-tablets">Created by</Table.Th>}
            <Table.Th>Last used</Table.Th>
            <Table.Th>Spent</Table.Th>
            <Table.Th>Limits</Table.Th>
            <Table.Th className="nowrap">Refused (24 h)</Table.Th>
            <Table.Th>Expires</Table.Th>
            <HiddenHead w={56}>Actions</HiddenHead>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => (
            <Table.Tr key={key.id}>
              <Table.Td maw={260}>
                <Group gap="xs" wrap="nowrap">
                  <Text size="sm" truncate title={key.name}>
                    {key.name}
                  </Text>
                  {stateOf(key) !== 'active' && <Mark>{stateOf(key)}</Mark>}
                  {stateOf(key) === 'active' && key.replaced_by !== null && <Mark>rotated</Mark>}
                  {stateOf(key) === 'active' && key.budget?.used_up === true && <State label="Used up" color="red" />}
                </Group>
                {key.oauth_client === null ? (
                  <Text ff="monospace" size="xs" c="dimmed">
                    {key.prefix}…
                  </Text>
                ) : (
                  <Text size="xs" c="dimmed">
                    Authorized client, without a secret
                  </Text>
                )}
              </Table.Td>
              {withCreators && <Creator of={key} />}
              <Table.Td data-name="Last used">
                <When time={key.last_used_at} />
              </Table.Td>
              <Table.Td data-name="Spent">
                <Spend budget={key.budget} spend={key.spend} />
              </Table.Td>
              <Table.Td data-name="Limits">
                <Text size="sm">{limitsOf(key)}</Text>
              </Table.Td>
              <Table.Td data-name="Refused (24 h)">
                <RefusedCount of={key} />
              </Table.Td>
              <Table.Td data-name="Expires">
                <Text size="sm" {...(key.expires_at === null ? { c: 'dimmed' } : {})}>
                  {key.expires_at === null ? 'Never' : dayOf(key.expires_at)}
                </Text>
              </Table.Td>
              <Table.Td className="card-menu">
                <KeyMenu apiKey={key} onAct={onAct} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

const MAKERS = { setup: 'Created at setup', command: 'Command line' } as const;

function Creator({ of: { created_by: creator, made_by: maker } }: { readonly of: ApiKey }) {
  return (
    <Table.Td className="not-on-tablets" data-name="Created by" maw={180}>
      <Text size="sm" truncate {...(creator === null ? { c: 'dimmed' } : { title: creator.name })}>
        {creator?.name ?? (maker === null ? 'Unknown' : MAKERS[maker])}
      </Text>
    </Table.Td>
  );
}

/** Calls of the key that became no task; a link to why, for users who may see it. */
function RefusedCount({ of: { id, name, refused_24h: count } }: { readonly of: ApiKey }) {
  const may = useMay();
  const text = count.toLocaleString('en');
  if (count === 0 || !may('tasks.read'))
    return (
      <Text size="sm" className="numbers" {...(count === 0 && { c: 'dimmed' })}>
        {text}
      </Text>
    );
  return (
    <Link
      to="/tasks/refused"
      search={{ key: id }}
      className="text-link numbers"
      aria-label={`${text} refused calls of ${name}`}
    >
      {text}
    </Link>
  );
}

function KeyMenu({ apiKey, onAct }: { readonly apiKey: ApiKey; readonly onAct: (dialog: Dialog) => void }) {
  const navigate = useNavigate();
  const may = useMay();
  const active = stateOf(apiKey) === 'active' && may('keys.manage');
  const withTasks = may('tasks.read');
  const withUsage = may('usage.read');
  if (!withTasks && !withUsage) return null;
  return (
    <RowMenu of={apiKey.name}>
      {withTasks && (
        <Menu.Item onClick={() => void navigate({ to: '/tasks', search: { key: apiKey.id } })}>View tasks</Menu.Item>
      )}
      {withUsage && (
        <Menu.Item onClick={() => void navigate({ to: '/usage', search: { key: apiKey.name } })}>View usage</Menu.Item>
      )}
      {active && (
        <>
          <Menu.Item onClick={() => onAct({ kind: 'edit', key: apiKey })}>Edit</Menu.Item>
          {apiKey.replaced_by === null && apiKey.oauth_client === null && (
            <Menu.Item onClick={() => onAct({ kind: 'rotate', key: apiKey })}>Rotate</Menu.Item>
          )}
          <Menu.Divider />
          <Menu.Item c="var(--mantine-color-error)" onClick={() => onAct({ kind: 'revoke', key: apiKey })}>
            Revoke
          </Menu.Item>
        </>
      )}
    </RowMenu>
  );
}

function stateOf({ revoked_at: revoked, expires_at: expires }: ApiKey): 'active' | 'revoked' | 'expired' {
  if (revoked !== null) return 'revoked';
  return expires !== null && Date.parse(expires) <= Date.now() ? 'expired' : 'active';
}

function limitsOf(key: ApiKey): string {
  const limits = [
    key.models.length > 0 ? key.models.join(', ') : undefined,
    key.scopes.length > 0 ? `${key.scopes.join(', ')} only` : undefined,
    key.submits_per_minute === null ? undefined : `${key.submits_per_minute || 'unlimited'} requests/min`,
    key.tasks_in_flight === null ? undefined : `${key.tasks_in_flight || 'unlimited'} concurrent`,
    key.weight === 1 ? undefined : `weight ${key.weight}`,
  ].filter((limit) => limit !== undefined);
  return limits.length === 0 ? 'Default' : limits.join(' · ');
}
