import { Injectable } from '@nestjs/common';
import { LinkStore } from '#accounts/link-store.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import { SessionStore } from '#accounts/session-store.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';

/** Of the accounts that were used last. */
const MOST_LINKS = 10;

/** A link with which a person chooses a new password. */
export interface ResetLink {
  readonly person: Person;
  /** Names of the accounts that it is for. */
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

  /** New links for whoever signs in with this address and a password, one for each password; older ones end. */
  async create(email: string): Promise<ResetLink[]> {
    const made: ResetLink[] = [];
    for (const person of (await this.people.forSignIn(email)).slice(0, MOST_LINKS)) {
      const accounts = await this.sessions.accounts(person.id);
      // A link of an account that is disabled would not work.
      const { accountId } = accounts.find(({ personId }) => personId === person.id) ?? accounts[0] ?? person;
      const path = await this.links.resetPassword({ ...person, accountId }, true);
      const account = accounts.map(({ accountName }) => accountName).join(', ');
      made.push({ person, account, link: publicUrlOf(this.config) + path });
    }
    return made;
  }
}
