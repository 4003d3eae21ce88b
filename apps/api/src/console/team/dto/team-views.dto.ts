import { ApiProperty } from '@nestjs/swagger';
import type { Invitation } from '#accounts/link-store.js';
import { INVITED_ROLES, ROLES, type InvitedRole, type Role } from '#accounts/person-rules.js';
import type { Person } from '#accounts/person-store.js';
import { LINK_HOURS } from '#accounts/link-store.js';
import { SECOND_FACTOR_KINDS, type SecondFactorKind } from '#accounts/second-factor-store.js';
import { ListOf } from '../../dto/list-views.dto.js';

/** A user's sign-in options. */
const SIGN_IN_METHODS = ['password', 'openid'] as const;

/** A user of the account, for its admins. */
export class TeamPersonView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  email!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ enum: ROLES })
  role!: Role;

  @ApiProperty({ enum: SIGN_IN_METHODS, isArray: true })
  signs_in_with!: readonly (typeof SIGN_IN_METHODS)[number][];

  @ApiProperty({ description: 'Whether the user has an authenticator app or a passkey.' })
  two_factor!: boolean;

  @ApiProperty({ enum: SECOND_FACTOR_KINDS, isArray: true })
  second_factors!: readonly SecondFactorKind[];

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time', description: 'Rounded to the minute.' })
  last_seen_at!: string | null;

  @ApiProperty({ type: String, nullable: true, format: 'date-time' })
  disabled_at!: string | null;
}

/** The users of one account, oldest first. */
export class TeamView extends ListOf(TeamPersonView) {}

/** An open invitation; its link was shown only once. */
export class InvitationView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  email!: string;

  @ApiProperty({ enum: INVITED_ROLES })
  role!: InvitedRole;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ format: 'date-time', description: 'Expiry of the link. If in the past, create a new link.' })
  expires_at!: string;
}

/** Open invitations, oldest first, including expired ones. */
export class InvitationListView extends ListOf(InvitationView) {}

/** A one-time link, and for how many hours it works. */
export class LinkView {
  @ApiProperty({ description: 'Single-use link; shown only once.' })
  link!: string;

  @ApiProperty({ type: 'integer', description: 'Hours until the link expires.', example: LINK_HOURS })
  hours!: number;

  @ApiProperty({
    type: Boolean,
    nullable: true,
    description: 'Whether the link was emailed to its recipient; null if email is not set up.',
  })
  emailed!: boolean | null;
}

/** The user, with their sign-in options. */
export function personView(person: Person, factors: readonly SecondFactorKind[] = []): TeamPersonView {
  const { id, email, name, role, hasPassword, hasIdentity, createdAt, seenAt, disabledAt } = person;
  return {
    id,
    email,
    name,
    role,
    signs_in_with: SIGN_IN_METHODS.filter((way) => (way === 'password' ? hasPassword : hasIdentity)),
    two_factor: factors.length > 0,
    second_factors: factors,
    created_at: createdAt.toISOString(),
    last_seen_at: seenAt?.toISOString() ?? null,
    disabled_at: disabledAt?.toISOString() ?? null,
  };
}

/** The invitation without its link, which is stored only as a digest. */
export function invitationView({ id, email, role, createdAt, expiresAt }: Invitation): InvitationView {
  return { id, email, role, created_at: createdAt.toISOString(), expires_at: expiresAt.toISOString() };
}

/** The link is only in this response, and perhaps in an email. */
export function linkView({ link, emailed }: Pick<LinkView, 'link' | 'emailed'>): LinkView {
  return { link, hours: LINK_HOURS, emailed };
}
