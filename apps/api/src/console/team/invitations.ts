import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { AccountStore } from '#accounts/account-store.js';
import { LinkStore, type Invitation } from '#accounts/link-store.js';
import type { InvitedRole } from '#accounts/person-rules.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { LinkMails, type Mailed } from '../sign-in/link-mails.js';

/** A one-time link. */
export interface NewLink {
  readonly link: string;
  /** Whether it was emailed to its recipient; null = email is off. */
  readonly emailed: Mailed;
}

/** Maximum number of open invitations per account; a link works for a day. */
const MAX_OPEN = 100;

/** Invitations to an account, and links for its users. Another account's invitation is `not_found`. */
@Injectable()
export class Invitations {
  constructor(
    private readonly people: PersonStore,
    private readonly links: LinkStore,
    private readonly accounts: AccountStore,
    private readonly mails: LinkMails,
    private readonly config: ApiConfig,
  ) {}

  /**
   * Creates a link for a new user; an older one for them ends. An email address that another account knows is treated
   * the same. Throws AppError `already_exists` when the account has this user, `account_limit_reached` when it has too
   * many open invitations.
   */
  async invite(accountId: string, email: string, role: InvitedRole, madeBy: string): Promise<NewLink> {
    if (await this.people.hasEmail(accountId, email)) {
      throw new AppError('already_exists', 'A member of this account already has this email address.', {
        param: 'email',
      });
    }
    const others = (await this.links.invitations(accountId)).filter((invitation) => invitation.email !== email);
    if (others.length >= MAX_OPEN) {
      const text = `The account has ${MAX_OPEN} open invitations. Withdraw one before you invite someone else.`;
      throw new AppError('account_limit_reached', text);
    }
    return await this.send(accountId, { email, role }, madeBy);
  }

  /** Creates a new link in place of a lost or expired one. */
  async renew(accountId: string, id: string, madeBy: string): Promise<{ link: NewLink; invitation: Invitation }> {
    const invitation = (await this.links.invitations(accountId)).find((one) => one.id === id);
    if (invitation === undefined) throw noInvitation();
    return { link: await this.send(accountId, invitation, madeBy), invitation };
  }

  async withdraw(accountId: string, id: string): Promise<Invitation> {
    const invitation = await this.links.withdraw(accountId, id);
    if (invitation === undefined) throw noInvitation();
    return invitation;
  }

  /** Creates a link for setting a new password; an older one ends. */
  async resetPassword(person: Person, madeBy: string): Promise<NewLink> {
    await this.mails.admit(person.accountId, person.email);
    const link = this.address(await this.links.resetPassword(person, { madeBy }));
    return { link, emailed: await this.mails.resetPassword(person.email, link) };
  }

  private async send(
    accountId: string,
    invitation: Pick<Invitation, 'email' | 'role'>,
    madeBy: string,
  ): Promise<NewLink> {
    await this.mails.admit(accountId, invitation.email);
    const link = this.address(await this.links.invite(accountId, invitation, madeBy));
    const account = await this.accounts.find(accountId);
    return { link, emailed: await this.mails.invite(invitation.email, account?.name ?? accountId, link) };
  }

  private address(path: string): string {
    return publicUrlOf(this.config) + path;
  }
}

function noInvitation(): AppError {
  return new AppError('not_found', 'Invitation not found.');
}
