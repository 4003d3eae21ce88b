import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { AccountStore } from '#accounts/account-store.js';
import { LinkStore, type Invitation } from '#accounts/link-store.js';
import type { InvitedRole } from '#accounts/person-rules.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { LinkMails, type Mailed } from '../mail/link-mails.js';

/** A one-time link. */
export interface NewLink {
  readonly link: string;
  /** Whether it was mailed to whom it is for; null = this installation sends no mail. */
  readonly emailed: Mailed;
}

/** Open invitations that an account may have at a time; a link works for a day. */
const MOST_OPEN = 100;

/** Who is asked to join an account, and the links that people are sent. Another account's invitation is none: `not_found`. */
@Injectable()
export class Invitations {
  constructor(
    private readonly people: PersonStore,
    private readonly links: LinkStore,
    private readonly accounts: AccountStore,
    private readonly mails: LinkMails,
    private readonly config: ApiConfig,
  ) {}

  async list(accountId: string): Promise<Invitation[]> {
    return await this.links.invitations(accountId);
  }

  /**
   * The link for somebody new; an older one for them ends. Whether another account knows the address makes no
   * difference. Throws AppError `already_exists` when somebody of this account has it, `account_limit_reached` when too
   * many others are asked already.
   */
  async invite(accountId: string, email: string, role: InvitedRole): Promise<NewLink> {
    if (await this.people.hasEmail(accountId, email)) {
      throw new AppError('already_exists', 'A member of this account already has this email address.', {
        param: 'email',
      });
    }
    const others = (await this.list(accountId)).filter((invitation) => invitation.email !== email);
    if (others.length >= MOST_OPEN) {
      const text = `The account has ${MOST_OPEN} open invitations. Withdraw one before you invite someone else.`;
      throw new AppError('account_limit_reached', text);
    }
    return await this.send(accountId, { email, role });
  }

  /** A new link in place of one that was lost, or is too old. */
  async renew(accountId: string, id: string): Promise<{ made: NewLink; invitation: Invitation }> {
    const invitation = (await this.list(accountId)).find((one) => one.id === id);
    if (invitation === undefined) throw noInvitation();
    return { made: await this.send(accountId, invitation), invitation };
  }

  async withdraw(accountId: string, id: string): Promise<Invitation> {
    const invitation = await this.links.withdraw(accountId, id);
    if (invitation === undefined) throw noInvitation();
    return invitation;
  }

  /** The link with which a person chooses a new password; an older one ends. */
  async resetPassword(person: Person): Promise<NewLink> {
    const link = this.address(await this.links.resetPassword(person));
    return { link, emailed: await this.mails.resetPassword(person.email, link) };
  }

  private async send(accountId: string, invitation: Pick<Invitation, 'email' | 'role'>): Promise<NewLink> {
    const link = this.address(await this.links.invite(accountId, invitation));
    const account = await this.accounts.find(accountId);
    return { link, emailed: await this.mails.invite(invitation.email, account?.name ?? accountId, link) };
  }

  private address(path: string): string {
    return publicUrlOf(this.config) + path;
  }
}

function noInvitation(): AppError {
  return new AppError('not_found', 'There is no such invitation.');
}
