import { Injectable } from '@nestjs/common';
import { newEmailOf } from '#accounts/person-rules.js';
import { CHANNEL_KINDS, type ChannelKind } from '#contract/alert-message.js';
import { AppError } from '#contract/app-error.js';
import { EgressConfig } from '#egress/egress.config.js';
import { receiverUrlProblem } from '#egress/public-url.js';
import { AlertRuleRepository } from '#notifications/alerts/alert-rule.repository.js';
import { DeliveryRecords, type ChannelWithLast } from '#notifications/deliveries/delivery-records.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { Mailer } from '#notifications/mail/mailer.js';
import type { NewChannelBody } from './dto/alert-bodies.dto.js';

/** Where an account's alerts are sent, as its admins manage it. Anything of another account is `not_found`. */
@Injectable()
export class AlertChannels {
  constructor(
    private readonly endpoints: EndpointStore,
    private readonly rules: AlertRuleRepository,
    private readonly records: DeliveryRecords,
    private readonly egress: EgressConfig,
    private readonly mailer: Mailer,
  ) {}

  /** The kinds of channels available here: email only if the installation sends email. */
  get kinds(): ChannelKind[] {
    return CHANNEL_KINDS.filter((kind) => kind !== 'email' || this.mailer.enabled);
  }

  async list(accountId: string): Promise<ChannelWithLast[]> {
    return await this.records.ofChannels(accountId);
  }

  /** Throws AppError `not_found`. */
  async find(accountId: string, id: string): Promise<ChannelWithLast> {
    const found = (await this.list(accountId)).find((channel) => channel.id === id);
    if (found === undefined) throw new AppError('not_found', 'Channel not found.');
    return found;
  }

  /**
   * Returns the new channel. Throws AppError `invalid_value` for a URL that is not public or not https, for an invalid
   * email address, and for email when the installation sends none; `account_limit_reached` when the account has its
   * maximum number of channels.
   */
  async add(accountId: string, { kind, address }: NewChannelBody): Promise<ChannelWithLast> {
    if (!this.kinds.includes(kind))
      throw new AppError('invalid_value', 'Email is not set up. Ask an operator to set SMTP_URL.', { param: 'kind' });
    const email = kind === 'email' ? newEmailOf(address) : undefined;
    const problem = kind === 'email' ? emailProblem(email) : receiverUrlProblem(address, this.egress);
    if (problem !== undefined) throw new AppError('invalid_value', problem, { param: 'address' });
    return await this.find(accountId, await this.endpoints.addChannel(accountId, kind, email ?? address));
  }

  /** Returns the removed channel. Throws AppError `not_found`. */
  async remove(accountId: string, id: string): Promise<ChannelWithLast> {
    const channel = await this.find(accountId, id);
    await this.endpoints.removeChannel(accountId, id);
    await this.rules.forgetChannel(accountId, id);
    return channel;
  }
}

function emailProblem(email: string | undefined): string | undefined {
  return email === undefined ? 'Enter a valid email address.' : undefined;
}
