import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import { lockAccount } from '#accounts/accounts.sql.js';
import { CHANNEL_KINDS, type AlertMessage, type ChannelKind } from '#contract/alert-message.js';
import { AppError } from '#contract/app-error.js';
import { jsonOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import { ATTEMPT_ERRORS, DELIVERY_STATES, type AttemptError, type DeliveryState } from './next-step.js';
import { oneOf } from './one-of.js';
import { WebhooksConfig } from './webhooks.config.js';

/** Where an account's alerts are sent. */
export interface AlertChannel {
  readonly id: string;
  readonly kind: ChannelKind;
  /** An https URL, or an email address. */
  readonly address: string;
  readonly createdAt: Date;
  /** It answered 410. */
  readonly gone: boolean;
  /** Its newest message; undefined when there is none in the log. */
  readonly last: ChannelDelivery | undefined;
}

/** How a message to a channel went. */
export interface ChannelDelivery {
  readonly id: string;
  readonly event: string;
  readonly state: DeliveryState;
  readonly createdAt: Date;
  /** Of the newest attempt; both null before it has ended. */
  readonly status: number | null;
  readonly error: AttemptError | null;
}

const MAILTO = 'mailto:';
const COLUMNS = { id: true, url: true, channel: true, createdAt: true, disabledAt: true } as const;

/** The alert channels, which are endpoints that get no webhooks about tasks. Another account's id counts as unknown. */
@Injectable()
export class AlertChannelStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: WebhooksConfig,
  ) {}

  /**
   * Adds a channel and returns its id. The address must have been checked.
   * Throws AppError `account_limit_reached` when the account has as many channels as it may have endpoints.
   */
  async add(accountId: string, kind: ChannelKind, address: string): Promise<string> {
    const id = `whe_${ulid()}`;
    const most = this.config.endpointsPerAccount;
    await this.prisma.$transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      const count = await transaction.webhookEndpoint.count({ where: { accountId, channel: { not: null } } });
      if (most > 0 && count >= most)
        throw new AppError(
          'account_limit_reached',
          `The account has reached its limit of ${most} channels. Remove one first.`,
        );
      await transaction.webhookEndpoint.create({
        data: { id, accountId, url: channelUrl(kind, address), events: [], channel: kind },
      });
    });
    return id;
  }

  /** Newest first, each with how its newest message went. */
  async list(accountId: string): Promise<AlertChannel[]> {
    const rows = await this.prisma.webhookEndpoint.findMany({
      where: { accountId, channel: { not: null } },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      select: COLUMNS,
    });
    const newest = await this.prisma.$transaction(
      rows.map(({ id: endpointId }) =>
        this.prisma.webhookDelivery.findFirst({
          where: { endpointId },
          orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
          include: { log: { orderBy: { number: 'desc' }, take: 1 } },
        }),
      ),
    );
    return rows.map(({ id, url, channel, createdAt, disabledAt }, index) => {
      const last = newest[index];
      return {
        id,
        kind: oneOf(CHANNEL_KINDS, channel ?? ''),
        createdAt,
        gone: disabledAt !== null,
        address: channelAddress(url),
        last: last ? deliveryOf(last, last.log[0]) : undefined,
      };
    });
  }

  /** False when the account has no such channel. Messages to it stay in the log. */
  async remove(accountId: string, id: string): Promise<boolean> {
    return (
      (await this.prisma.webhookEndpoint.deleteMany({ where: { id, accountId, channel: { not: null } } })).count === 1
    );
  }

  /** Writes a message for a channel; undefined if none such works. Pass the result to SendDeliveries.enqueue. */
  async tellOne(accountId: string, channelId: string, message: AlertMessage): Promise<WebhookEntry | undefined> {
    const where = { id: channelId, accountId, channel: { not: null }, disabledAt: null };
    if ((await this.prisma.webhookEndpoint.count({ where })) === 0) return undefined;
    const data = newDelivery(accountId, channelId, message);
    const { id, epoch } = await this.prisma.webhookDelivery.create({ data, select: { id: true, epoch: true } });
    return { deliveryId: id, epoch };
  }

  /**
   * Writes a message for the given channels of an account (none given = all) and returns how many it wrote. After
   * committing the transaction, the caller makes SendDeliveries enqueue them.
   */
  async writeMessages(
    transaction: Transaction,
    accountId: string,
    message: AlertMessage,
    channelIds: readonly string[],
  ): Promise<number> {
    const channels = await transaction.webhookEndpoint.findMany({
      where: {
        accountId,
        channel: { not: null },
        disabledAt: null,
        ...(channelIds.length > 0 && { id: { in: [...channelIds] } }),
      },
      select: { id: true },
    });
    const { count } = await transaction.webhookDelivery.createMany({
      data: channels.map(({ id }) => newDelivery(accountId, id, message)),
    });
    return count;
  }
}

/** An email address is stored as its mailto: URL. */
function channelUrl(kind: ChannelKind, address: string): string {
  return kind === 'email' ? MAILTO + address : address;
}

/** The address that a channel was added with. */
export function channelAddress(url: string): string {
  return url.startsWith(MAILTO) ? url.slice(MAILTO.length) : url;
}

function newDelivery(accountId: string, endpointId: string, message: AlertMessage) {
  const id = `whd_${randomUUID().replaceAll('-', '')}`;
  return { id, accountId, endpointId, event: message.type, message: jsonOf(message), nextTryAt: new Date() };
}

function deliveryOf(
  { id, event, createdAt, state }: { id: string; event: string; createdAt: Date; state: string },
  attempt: { status: number | null; error: string | null } | undefined,
): ChannelDelivery {
  const error = attempt?.error ?? null;
  return {
    id,
    event,
    createdAt,
    state: oneOf(DELIVERY_STATES, state),
    status: attempt?.status ?? null,
    error: error === null ? null : oneOf(ATTEMPT_ERRORS, error),
  };
}
