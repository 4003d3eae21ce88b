import { Injectable } from '@nestjs/common';
import { newEmailOf } from '#accounts/person-rules.js';
import { CHANNEL_KINDS, type ChannelKind } from '#contract/alert-message.js';
import { AppError } from '#contract/app-error.js';
import { EgressConfig } from '#egress/egress.config.js';
import { publicUrlProblem } from '#egress/public-url.js';
import { Mailer } from '#notifications/mail/mailer.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import type { NewChannelBody } from './dto/alert-bodies.dto.js';

const MAX_URL_LENGTH = 2_048;

/** Creates channels. */
@Injectable()
export class NewChannels {
  constructor(
    private readonly endpoints: EndpointStore,
    private readonly egress: EgressConfig,
    private readonly mailer: Mailer,
  ) {}

  /** The kinds of channels available here: email only if the installation sends email. */
  get kinds(): ChannelKind[] {
    return CHANNEL_KINDS.filter((kind) => kind !== 'email' || this.mailer.enabled);
  }

  /**
   * Returns the id of the new channel. Throws AppError `invalid_value` for a URL that is not public or not https, for
   * an invalid email address, and for email when the installation sends none; `account_limit_reached` when the account
   * has its maximum number of channels.
   */
  async add(accountId: string, { kind, address }: NewChannelBody): Promise<string> {
    if (!this.kinds.includes(kind))
      throw new AppError('invalid_value', 'Email is not set up. Ask an operator to set SMTP_URL.', { param: 'kind' });
    const email = kind === 'email' ? newEmailOf(address) : undefined;
    const problem = kind === 'email' ? emailProblem(email) : this.urlProblem(address);
    if (problem !== undefined) throw new AppError('invalid_value', problem, { param: 'address' });
    return await this.endpoints.addChannel(accountId, kind, email ?? address);
  }

  private urlProblem(address: string): string | undefined {
    if (address.length > MAX_URL_LENGTH) return 'The URL is too long.';
    return publicUrlProblem(address, this.egress, { httpsOnly: true });
  }
}

function emailProblem(email: string | undefined): string | undefined {
  return email === undefined ? 'Enter a valid email address.' : undefined;
}
