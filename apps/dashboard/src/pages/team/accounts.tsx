import { Box, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { accountsQuery } from '../../api/team-queries.ts';
import type { AccountRow, OneTimeLink } from '../../api/team-types.ts';
import { IconPlus } from '@tabler/icons-react';
import { LinkShown } from '../../parts/one-time-link.tsx';
import { PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { AccountDialog, type AccountAct } from './account-dialog.tsx';
import { AccountForm } from './account-form.tsx';
import { AccountTable } from './account-table.tsx';

type Dialog =
  | { kind: 'create' }
  | { kind: 'act'; act: AccountAct }
  | { kind: 'link'; account: AccountRow; email: string; newLink: OneTimeLink };

/** For operators: the accounts of the installation. */
export function AccountsPage() {
  const { data, error, isPending, refetch } = useQuery(accountsQuery);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const close = () => setDialog(null);
  const showLink = (account: AccountRow, email: string, newLink: OneTimeLink) => {
    setDialog({ kind: 'link', account, email, newLink });
  };
  return (
    <PageFrame
      title="Accounts"
      about="Each account has its own members, keys, tasks, and budget, and can’t see the others. You see their usage, but not their prompts or images."
      actions={
        <Button leftSection={<IconPlus size={16} />} onClick={() => setDialog({ kind: 'create' })}>
          Create account
        </Button>
      }
    >
      {error !== null && <Trouble error={error} doing="Could not load accounts" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">
          {isPending && <Rows />}
          {data !== undefined && <AccountTable accounts={data.data} onAct={(act) => setDialog({ kind: 'act', act })} />}
        </Box>
      )}
      {dialog?.kind === 'create' && <AccountForm onClose={close} onCreated={showLink} />}
      {dialog?.kind === 'act' && <AccountDialog act={dialog.act} onClose={close} onLink={showLink} />}
      {dialog?.kind === 'link' && (
        <LinkShown title="Invitation link" newLink={dialog.newLink} onClose={close}>
          Send this link to <b>{dialog.email}</b>. They choose a password and become{' '}
          {dialog.account.admins === 0 ? 'the owner' : 'an admin'} of <b>{dialog.account.name}</b>.
        </LinkShown>
      )}
    </PageFrame>
  );
}
