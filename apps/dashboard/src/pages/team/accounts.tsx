import { Box, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { accountsQuery } from '../../api/team-queries.ts';
import type { OneTimeLink } from '../../api/team-types.ts';
import { PlusIcon } from '../../parts/icons.tsx';
import { LinkShown } from '../../parts/one-time-link.tsx';
import { PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { AccountDialog, type AccountAct } from './account-dialog.tsx';
import { AccountForm } from './account-form.tsx';
import { AccountTable } from './account-table.tsx';

type Dialog =
  | { kind: 'create' }
  | { kind: 'act'; act: AccountAct }
  | { kind: 'link'; account: string; email: string; made: OneTimeLink };

export function AccountsPage() {
  const { data, error, isPending, refetch } = useQuery(accountsQuery);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const close = () => {
    setDialog(null);
  };
  const showLink = (account: string, email: string, made: OneTimeLink) => {
    setDialog({ kind: 'link', account, email, made });
  };
  return (
    <PageFrame
      title="Accounts"
      about="Each account has its own people, keys, tasks and budget, and sees nothing of the others. You see their figures, not what they draw."
      actions={
        <Button
          leftSection={<PlusIcon size={16} />}
          onClick={() => {
            setDialog({ kind: 'create' });
          }}
        >
          Create an account
        </Button>
      }
    >
      {error !== null && (
        <Trouble error={error} doing="The accounts could not be read" onRetry={() => void refetch()} />
      )}
      {error === null && (
        <Box className="surface">
          {isPending && <Rows />}
          {data !== undefined && (
            <AccountTable
              accounts={data.data}
              onAct={(act) => {
                setDialog({ kind: 'act', act });
              }}
            />
          )}
        </Box>
      )}
      {dialog?.kind === 'create' && <AccountForm onClose={close} onMade={showLink} />}
      {dialog?.kind === 'act' && <AccountDialog act={dialog.act} onClose={close} onLink={showLink} />}
      {dialog?.kind === 'link' && (
        <LinkShown title="The invitation" made={dialog.made} onClose={close}>
          Send this link to <b>{dialog.email}</b>. With it they choose a password and look after <b>{dialog.account}</b>
          .
        </LinkShown>
      )}
    </PageFrame>
  );
}
