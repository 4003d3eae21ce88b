import { Injectable } from '@nestjs/common';
import { AccountStore } from '#accounts/account-store.js';
import { LinkStore } from '#accounts/link-store.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';

/** Of the accounts that were used last. */
const MOST_LINKS = 10;

/** A link with which a person chooses a new password. */
export interface ResetLink {
  readonly person: Person;
  /** Name of their account. */
  readonly account: string;
  readonly link: string;
}

/** Password reset links by email address. */
@Injectable()
export class ResetLinks {
  constructor(
    private readonly people: PersonStore,
    private readonly accounts: AccountStore,
    private readonly links: LinkStore,
    private readonly config: ApiConfig,
  ) {}

  /** New links for whoever signs in with this address and a password, one for each account; older ones end. */
  async create(email: string): Promise<ResetLink[]> {
    const made: ResetLink[] = [];
    for (const person of (await this.people.forSignIn(email)).slice(0, MOST_LINKS)) {
      const account = await this.accounts.find(person.accountId);
      const path = await this.links.resetPassword(person);
      made.push({ person, account: account?.name ?? '', link: publicUrlOf(this.config) + path });
    }
    return made;
  }
}
