import { Radio, Stack } from '@mantine/core';
import { useSession } from '../../api/queries.ts';
import type { Role } from '../../api/types.ts';

export const ROLE_NAMES = {
  owner: 'Owner',
  admin: 'Admin',
  member: 'Member',
  viewer: 'Viewer',
  billing: 'Billing',
} as const satisfies Record<Role, string>;

/** "Mo is now a member". */
export const ROLE_PHRASES = {
  owner: 'an owner',
  admin: 'an admin',
  member: 'a member',
  viewer: 'a viewer',
  billing: 'a billing user',
} as const satisfies Record<Role, string>;

/** Roles for invitations. */
export const INVITED_ROLES = ['admin', 'member', 'viewer', 'billing'] as const;

const ABOUT: Readonly<Record<Role, string>> = {
  owner: 'Everything an admin can do, and changes owners and their roles',
  admin: 'Manages the team, webhooks, alerts, and everyone’s keys and tasks',
  member: 'Generates images, manages their own keys and tasks, and sees usage',
  viewer: 'Sees all tasks and usage, but can’t change anything',
  billing: 'Sees usage, spend, and budgets, but no prompts or images',
};

interface RoleChoiceProps {
  readonly roles: readonly Role[];
  /** Props of the form field. */
  readonly field: object;
}

/** Said wherever someone can become an operator. */
export const OPERATES = 'Operates this installation: its providers, prices, and all accounts';

/** The roles to choose from, with their permissions. */
export function RoleChoice({ roles, field }: RoleChoiceProps) {
  const { operator } = useSession();
  const aboutOf = (role: Role) =>
    operator && (role === 'owner' || role === 'admin') ? `${ABOUT[role]}. ${OPERATES}` : ABOUT[role];
  return (
    <Radio.Group label="Role" {...field}>
      <Stack gap="xs" mt={6}>
        {roles.map((role) => (
          <Radio key={role} value={role} label={ROLE_NAMES[role]} description={aboutOf(role)} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
