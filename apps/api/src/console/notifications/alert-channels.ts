import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { newEmailOf } from '#accounts/person-rules.js';
import { CHANNEL_KINDS, type ChannelKind } from '#contract/alert-message.js';
import { AppError } from '#contract/app-error.js';
import { EgressConfig } from '#egress/egress.config.js';
import { publicUrlProblem } from '#egress/public-url.js';
import { testMessage } from '#notifications/alerts/alert-event.repository.js';
import { AlertRuleRepository } from '#notifications/alerts/alert-rule.repository.js';
import { DeliveryStore, type ChannelWithLast } from '#notifications/deliveries/delivery-store.js';
import { SendDeliveries } from '#notifications/deliveries/send-deliveries.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { Mailer } from '#notifications/mail/mailer.js';
import { MailLimits } from '../sign-in/mail-limits.js';
import type { NewChannelBody } from './dto/alert-bodies.dto.js';

const MAX_URL_LENGTH = 2_048;

/** Where an account's alerts are sent, as its admins manage it. Anything of another account is `not_found`. */
@Injectable()
export class AlertChannels {
  constructor(
    private readonly endpoints: EndpointStore,
    private readonly rules: AlertRuleRepository,
    private readonly deliveries: DeliveryStore,
    private readonly send: SendDeliveries,
    private readonly limits: MailLimits,
    private readonly egress: EgressConfig,
    private readonly mailer: Mailer,
  ) {}

  /** The kinds of channels available here: email only if the installation sends email. */
  get kinds(): ChannelKind[] {
    return CHANNEL_KINDS.filter((kind) => kind !== 'email' || this.mailer.enabled);
  }

  async list(accountId: string): Promise<ChannelWithLast[]> {
    return await this.deliveries.channels(accountId);
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
    const problem = kind === 'email' ? emailProblem(email) : this.urlProblem(address);
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

  /**
   * Sends a test and returns the id of its delivery. Throws AppError `invalid_value` for a channel that responded with
   * 410, and `rate_limit_exceeded`.
   */
  async test(accountId: string, { id, address }: ChannelWithLast): Promise<string> {
    await this.limits.admit(accountId, address);
    const message = testMessage(randomUUID().replaceAll('-', ''), new Date());
    const entry = await this.deliveries.addMessage(accountId, id, message);
    if (entry === undefined)
      throw new AppError(
        'invalid_value',
        'The channel is turned off because its receiver returned 410. Remove it and add it again.',
      );
    await this.send.enqueue(entry);
    return entry.deliveryId;
  }

  private urlProblem(address: string): string | undefined {
    if (address.length > MAX_URL_LENGTH) return 'The URL is too long.';
    return publicUrlProblem(address, this.egress, { httpsOnly: true });
  }
}

function emailProblem(email: string | undefined): string | undefined {
  return email === undefined ? 'Enter a valid email address.' : undefined;
}
