import { ApiProperty } from '@nestjs/swagger';
import { imageProvidersOf, type Catalog } from '#catalog/catalog.js';
import { ABILITIES, abilitiesOf, may, ROLES, type Ability, type Role } from '#accounts/person-rules.js';
import type { Membership, Session, SessionRow } from '#accounts/session-store.js';
import { ListOf } from '../../dto/list-views.dto.js';

class PersonView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  email!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ enum: ROLES })
  role!: Role;

  @ApiProperty({ description: 'Has a password to sign in with.' })
  password!: boolean;

  @ApiProperty({ description: 'Is known at the OpenID Connect provider, and may sign in with it.' })
  oidc!: boolean;
}

class AccountView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;
}

class MembershipView extends AccountView {
  @ApiProperty({ enum: ROLES })
  role!: Role;
}

/** The signed-in user, the open account, and what the console shows there. */
export class SessionView {
  @ApiProperty({ type: PersonView })
  person!: PersonView;

  @ApiProperty({ type: AccountView })
  account!: AccountView;

  @ApiProperty({ type: [MembershipView], description: 'The accounts that they may switch between, this one included.' })
  accounts!: MembershipView[];

  @ApiProperty({ description: 'Operates the whole installation: an owner or admin of the first account.' })
  operator!: boolean;

  @ApiProperty({ enum: Object.keys(ABILITIES), isArray: true, description: 'What their role lets them do.' })
  abilities!: Ability[];

  @ApiProperty({ description: 'Turns on two-factor authentication before anything else: the account requires it.' })
  two_factor_required!: boolean;

  @ApiProperty({ example: 'USD', description: 'The currency of the installation.' })
  currency!: string;

  @ApiProperty({
    type: [String],
    description: 'Providers that generate images, except the sandbox. Empty if the sandbox generates all of them.',
  })
  image_providers!: string[];
}

/** The password was correct, and a code is required: POST /sign-in/code. */
export class SecondStepView {
  @ApiProperty({ enum: [true] })
  second_step!: true;
}

class ProviderOfferView {
  @ApiProperty({ description: 'Its name on the button.' })
  name!: string;

  @ApiProperty({ description: 'Where a browser starts to sign in.' })
  url!: string;
}

/** The available sign-in options; public. */
export class SignInView {
  @ApiProperty({ description: 'There is no owner yet.' })
  first_run!: boolean;

  @ApiProperty({ description: 'Whether users can sign in with email and password.' })
  password!: boolean;

  @ApiProperty({
    type: ProviderOfferView,
    nullable: true,
    description: 'Whether users can sign in with OpenID Connect.',
  })
  oidc!: ProviderOfferView | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Where passkeys work; null = nowhere: PUBLIC_URL is neither https with a domain name nor localhost.',
  })
  passkey_origin!: string | null;

  @ApiProperty({ description: 'Sends invitations and password reset links by email.' })
  email!: boolean;
}

class OpenSessionView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ description: 'The session of this request.' })
  current!: boolean;

  @ApiProperty()
  user_agent!: string;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ format: 'date-time' })
  last_seen_at!: string;
}

/** A user's own valid sessions, newest first. */
export class SessionListView extends ListOf(OpenSessionView) {}

/** The catalog provides the currency and the list of providers. */
export function sessionView(
  session: Session,
  accounts: readonly Membership[],
  catalog: Catalog,
  two_factor_required: boolean,
): SessionView {
  const { personId, accountId, accountName, email, name, role, hasPassword, hasIdentity } = session;
  return {
    person: { id: personId, email, name, role, password: hasPassword, oidc: hasIdentity },
    account: { id: accountId, name: accountName },
    accounts: accounts.map((one) => ({ id: one.accountId, name: one.accountName, role: one.role })),
    operator: may(session, 'installation.manage'),
    abilities: abilitiesOf(session),
    two_factor_required,
    currency: catalog.currency,
    image_providers: imageProvidersOf(catalog),
  };
}

/** `currentId`: the session of this request. */
export function sessionListView(rows: readonly SessionRow[], currentId: string): SessionListView {
  return {
    data: rows.map(({ id, userAgent, createdAt, lastSeenAt }) => ({
      id,
      current: id === currentId,
      user_agent: userAgent,
      created_at: createdAt.toISOString(),
      last_seen_at: lastSeenAt.toISOString(),
    })),
  };
}
