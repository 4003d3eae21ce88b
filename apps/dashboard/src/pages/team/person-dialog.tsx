import { send } from '../../api/request.ts';
import { peopleQuery } from '../../api/team-queries.ts';
import type { OneTimeLink, Person, PersonChange } from '../../api/team-types.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { DeletePerson } from './delete-person.tsx';
import { RoleForm } from './role-form.tsx';
import { useSave } from '../../parts/use-save.ts';

/** An action of an admin on another user. */
export interface PersonAct {
  readonly kind: keyof typeof ACTS | 'role' | 'delete';
  readonly person: Person;
}

interface Act {
  readonly title: (name: string) => string;
  readonly about: string;
  readonly action: string;
  readonly harmless?: boolean;
  readonly done: (name: string) => string;
  readonly path?: string;
  readonly method?: 'DELETE';
  readonly body?: PersonChange;
}

const ACTS = {
  enable: {
    title: (name) => `Enable ${name}?`,
    about: 'They can sign in again with their previous password and role.',
    action: 'Enable',
    harmless: true,
    done: (name) => `${name} can sign in again.`,
    body: { disabled: false },
  },
  disable: {
    title: (name) => `Disable ${name}?`,
    about:
      'They are signed out immediately and can’t sign in. Keys they created keep working; revoke those on the Keys page.',
    action: 'Disable',
    done: (name) => `${name} is disabled.`,
    body: { disabled: true },
  },
  signOut: {
    title: (name) => `Sign ${name} out everywhere?`,
    about: 'All their sessions end. They can sign in again.',
    action: 'Sign out',
    done: (name) => `${name} is signed out everywhere.`,
    path: '/sign-out',
  },
  resetTwoFactor: {
    title: (name) => `Reset two-factor authentication for ${name}?`,
    about:
      'This removes their authenticator app, recovery codes, and passkeys. They sign in with their password alone until they set it up again. Make sure the request really comes from them.',
    action: 'Reset',
    done: (name) => `Two-factor authentication is off for ${name}.`,
    method: 'DELETE',
    path: '/two-factor',
  },
  reset: {
    title: (name) => `Reset password for ${name}?`,
    about:
      'You get a link to share. Nothing changes until they use it; then all their other sessions end. If they use other accounts too, they get a separate sign-in for this one.',
    action: 'Create reset link',
    harmless: true,
    done: () => 'Reset link created.',
    path: '/reset-link',
  },
} as const satisfies Record<string, Act>;

interface PersonDialogProps {
  readonly act: PersonAct;
  readonly onClose: () => void;
  readonly onLink: (newLink: OneTimeLink) => void;
}

export function PersonDialog({ act: { kind, person }, onClose, onLink }: PersonDialogProps) {
  if (kind === 'delete') return <DeletePerson person={person} onClose={onClose} />;
  if (kind === 'role') return <RoleForm person={person} onClose={onClose} />;
  return <Ask kind={kind} person={person} onClose={onClose} onLink={onLink} />;
}

interface AskProps extends Omit<PersonDialogProps, 'act'> {
  readonly kind: keyof typeof ACTS;
  readonly person: Person;
}

function isLink(answer: OneTimeLink | Person | undefined): answer is OneTimeLink {
  return answer !== undefined && 'link' in answer;
}

function Ask({ kind, person, onClose, onLink }: AskProps) {
  const { title, about, action, harmless = false, done, method, path = '', body }: Act = ACTS[kind];
  const apply = useSave({
    send: () =>
      send<OneTimeLink | Person | undefined>(
        method ?? (path === '' ? 'PATCH' : 'POST'),
        `/people/${person.id}${path}`,
        body,
      ),
    stale: [peopleQuery],
    done: (answer) => (isLink(answer) ? undefined : done(person.name)),
    after: (answer) => (isLink(answer) ? onLink(answer) : onClose()),
  });
  return (
    <Confirm opened title={title(person.name)} action={action} harmless={harmless} save={apply} onClose={onClose}>
      {about}
    </Confirm>
  );
}
