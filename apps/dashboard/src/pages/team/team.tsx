import { Button, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSession } from '../../api/queries.ts';
import { peopleQuery } from '../../api/team-queries.ts';
import type { Invitation, OneTimeLink } from '../../api/team-types.ts';
import { IconPlus } from '@tabler/icons-react';
import { LinkShown } from '../../parts/one-time-link.tsx';
import { accountLabel } from '../../parts/account-label.ts';
import { useOpenedByHash } from '../../parts/use-opened-by-hash.ts';
import { PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { InviteForm, type Invited } from './invite-form.tsx';
import { InvitedDialog } from './invited-dialog.tsx';
import { Invitations } from './team-invitations.tsx';
import { OwnAccount } from './own-account.tsx';
import { TeamPeople } from './team-people.tsx';
import { PersonDialog, type PersonAct } from './person-dialog.tsx';

type Dialog =
  | { kind: 'invite' }
  | { kind: 'person'; act: PersonAct }
  | { kind: 'several'; outcomes: readonly Invited[] }
  | { kind: 'invited'; email: Invitation['email']; newLink: OneTimeLink }
  | { kind: 'reset'; name: string; newLink: OneTimeLink };

export function TeamPage() {
  const { account } = useSession();
  const { data, error, isPending, refetch } = useQuery(peopleQuery);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const close = () => setDialog(null);
  const showInvitation = (email: string, newLink: OneTimeLink) => setDialog({ kind: 'invited', email, newLink });
  const showInvited = (outcomes: readonly Invited[]) => {
    const [only] = outcomes;
    if (outcomes.length === 1 && only?.newLink) showInvitation(only.email, only.newLink);
    else setDialog({ kind: 'several', outcomes });
  };
  useOpenedByHash('new', () => setDialog({ kind: 'invite' }));
  return (
    <PageFrame
      title="Team"
      about={`Who has access to ${accountLabel(account.name)}, and what their role lets them do.`}
      actions={
        <Button leftSection={<IconPlus size={16} />} onClick={() => setDialog({ kind: 'invite' })}>
          Invite members
        </Button>
      }
    >
      {error !== null && <Trouble error={error} doing="Could not load the team" onRetry={() => void refetch()} />}
      {isPending && <Rows />}
      {data !== undefined && (
        <Stack gap="lg">
          <TeamPeople people={data.data} onAct={(act) => setDialog({ kind: 'person', act })} />
          <Invitations onRenewed={showInvitation} />
          <OwnAccount />
        </Stack>
      )}
      {dialog?.kind === 'invite' && <InviteForm onClose={close} onCreated={showInvited} />}
      {dialog?.kind === 'several' && <InvitedDialog outcomes={dialog.outcomes} onClose={close} />}
      {dialog?.kind === 'person' && (
        <PersonDialog
          act={dialog.act}
          onClose={close}
          onLink={(newLink) => setDialog({ kind: 'reset', name: dialog.act.person.name, newLink })}
        />
      )}
      {dialog?.kind === 'invited' && (
        <LinkShown title="Invitation link" newLink={dialog.newLink} onClose={close}>
          Send this link to <b>{dialog.email}</b>. They choose a password and join {accountLabel(account.name)}.
        </LinkShown>
      )}
      {dialog?.kind === 'reset' && (
        <LinkShown title="Password reset link" newLink={dialog.newLink} onClose={close}>
          Send this link to <b>{dialog.name}</b> to choose a new password. They stay signed in until they use it.
        </LinkShown>
      )}
    </PageFrame>
  );
}
