import { Injectable } from '@nestjs/common';
import { LinkStore } from '#accounts/link-store.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import { SessionStore } from '#accounts/session-store.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';

/** Maximum number of links; the most recently used accounts come first. */
const MAX_LINKS = 10;

/** A link for setting a new password. */
export interface ResetLink {
  readonly person: Person;
  /** Names of the accounts that share the password. */
  readonly account: string;
  readonly link: string;
}

/** Password reset links by email address. */
@Injectable()
export class ResetLinks {
  constructor(
    private readonly people: PersonStore,
    private readonly sessions: SessionStore,
    private readonly links: LinkStore,
    private readonly config: ApiConfig,
  ) {}

  /** Creates links for the users with this email address and a password, one per password; older links end. */
  async create(email: string): Promise<ResetLink[]> {
    const links: ResetLink[] = [];
    for (const person of (await this.people.forSignIn(email)).slice(0, MAX_LINKS)) {
      const accounts = await this.sessions.accounts(person.id);
      // A link of a disabled account would not work.
      const { accountId } = accounts.find(({ personId }) => personId === person.id) ?? accounts[0] ?? person;
      const path = await this.links.resetPassword({ ...person, accountId }, { allAccounts: true });
      const account = accounts.map(({ accountName }) => accountName).join(', ');
      links.push({ person, account, link: publicUrlOf(this.config) + path });
    }
    return links;
  }
}
