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

  @ApiProperty({ description: 'Whether the user has a password.' })
  password!: boolean;

  @ApiProperty({ description: 'Whether the user signs in with OpenID Connect.' })
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

  @ApiProperty({
    type: [MembershipView],
    description: 'Accounts the user can switch between, including the current one.',
  })
  accounts!: MembershipView[];

  @ApiProperty({
    description: 'Whether the user operates the installation, as an owner or admin of the first account.',
  })
  operator!: boolean;

  @ApiProperty({ enum: Object.keys(ABILITIES), isArray: true, description: 'Permissions of the user’s role.' })
  abilities!: Ability[];

  @ApiProperty({
    description: 'Whether the user must turn on two-factor authentication first, because the account requires it.',
  })
  two_factor_required!: boolean;

  @ApiProperty({ example: 'USD', description: 'Currency of the installation.' })
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
  @ApiProperty({ description: 'Name on the sign-in button.' })
  name!: string;

  @ApiProperty({ description: 'URL that starts the sign-in.' })
  url!: string;
}

/** The available sign-in options; public. */
export class SignInView {
  @ApiProperty({ description: 'Whether the installation has no owner yet.' })
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
    description:
      'Origin for passkeys; null = not available, because PUBLIC_URL is neither https with a domain name nor localhost.',
  })
  passkey_origin!: string | null;

  @ApiProperty({ description: 'Whether invitations and password reset links are sent by email.' })
  email!: boolean;
}

class OpenSessionView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ description: 'Whether this is the session of the request.' })
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
