import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { EgressConfig } from '#egress/egress.config.js';
import { publicUrlProblem } from '#egress/public-url.js';
import { AlertChannelStore } from '#webhooks/channel-store.js';
import type { NewChannelBody } from './dto/alert-bodies.dto.js';

const MAX_URL_LENGTH = 2_048;

/** Takes a new channel in. */
@Injectable()
export class NewChannels {
  constructor(
    private readonly channels: AlertChannelStore,
    private readonly egress: EgressConfig,
  ) {}

  /**
   * The id of the new channel. Throws AppError `invalid_value` for an address that is not public, or not https, and
   * `account_limit_reached` when the account has as many channels as it may have.
   */
  async add(accountId: string, { kind, address }: NewChannelBody): Promise<string> {
    const tooLong = address.length > MAX_URL_LENGTH ? 'The URL is too long.' : undefined;
    const problem = tooLong ?? publicUrlProblem(address, this.egress, { httpsOnly: true });
    if (problem !== undefined) throw new AppError('invalid_value', problem, { param: 'address' });
    return await this.channels.add(accountId, kind, address);
  }
}
