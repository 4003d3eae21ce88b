import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import { lockAccount } from '#accounts/accounts.sql.js';
import { CHANNEL_KINDS, type ChannelKind } from '#contract/alert-message.js';
import { AppError } from '#contract/app-error.js';
import { END_EVENTS, WEBHOOK_EVENTS, type WebhookEventType } from '#contract/webhook-event.js';
import type { Prisma } from '#database/generated/client.js';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { oneOf } from './one-of.js';
import { WebhooksConfig } from './webhooks.config.js';

/** A receiver of webhooks about the ends of an account's tasks. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
  /** `gone`: it answered 410. `owner`: it was switched off. */
  readonly disabledReason: 'gone' | 'owner' | null;
  /** Since when every attempt has failed; null = it works, as far as is known. */
  readonly failingSince: Date | null;
}

/** Where an account's alerts are sent. */
export interface AlertChannel {
  readonly id: string;
  readonly kind: ChannelKind;
  /** An https URL, or an email address. */
  readonly address: string;
  readonly createdAt: Date;
  /** It answered 410. */
  readonly gone: boolean;
}

const REASONS = ['gone', 'owner'] as const;
const MAILTO = 'mailto:';

/** The two kinds of rows: webhooks about tasks, and alert channels, which get alerts only. Each has a limit of its own. */
const ENDPOINTS = { channel: null };
const CHANNELS = { channel: { not: null } };
const ENDPOINT_COLUMNS = {
  id: true,
  url: true,
  events: true,
  createdAt: true,
  disabledAt: true,
  disabledReason: true,
  failingSince: true,
} as const;
const CHANNEL_COLUMNS = { id: true, url: true, channel: true, createdAt: true, disabledAt: true } as const;

const NEWEST_FIRST: Prisma.WebhookEndpointOrderByWithRelationInput[] = [{ createdAt: 'desc' }, { id: 'desc' }];

/** The webhook endpoints and alert channels of accounts. Another account's id counts as unknown, as everywhere. */
@Injectable()
export class EndpointStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: WebhooksConfig,
  ) {}

  /**
   * Adds an endpoint and returns its id. The URL must have been checked (receiverUrlProblem).
   * Throws AppError `account_limit_reached` when the account has reached its limit of endpoints.
   */
  async add(accountId: string, url: string, events: readonly WebhookEventType[] = END_EVENTS): Promise<string> {
    return await this.insert({ accountId, url, events: [...events] }, ENDPOINTS, 'webhook endpoints');
  }

  /**
   * Adds a channel and returns its id. The address must have been checked.
   * Throws AppError `account_limit_reached` when the account has as many channels as it may have endpoints.
   */
  async addChannel(accountId: string, kind: ChannelKind, address: string): Promise<string> {
    const url = channelUrl(kind, address);
    return await this.insert({ accountId, url, events: [], channel: kind }, CHANNELS, 'channels');
  }

  private async insert(
    row: Omit<Prisma.WebhookEndpointUncheckedCreateInput, 'id'>,
    ofKind: Prisma.WebhookEndpointWhereInput,
    kind: string,
  ): Promise<string> {
    const id = `whe_${ulid()}`;
    const { accountId } = row;
    const most = this.config.endpointsPerAccount;
    await this.prisma.$transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      if (most > 0 && (await transaction.webhookEndpoint.count({ where: { accountId, ...ofKind } })) >= most)
        throw new AppError(
          'account_limit_reached',
          `The account has reached its limit of ${most} ${kind}. Remove one first.`,
        );
      await transaction.webhookEndpoint.create({ data: { id, ...row } });
    });
    return id;
  }

  /** The endpoints, newest first. */
  async list(accountId: string): Promise<WebhookEndpoint[]> {
    const rows = await this.prisma.webhookEndpoint.findMany({
      where: { accountId, ...ENDPOINTS },
      orderBy: NEWEST_FIRST,
      select: ENDPOINT_COLUMNS,
    });
    return rows.map(endpointOf);
  }

  /** The channels, newest first. */
  async channels(accountId: string): Promise<AlertChannel[]> {
    const rows = await this.prisma.webhookEndpoint.findMany({
      where: { accountId, ...CHANNELS },
      orderBy: NEWEST_FIRST,
      select: CHANNEL_COLUMNS,
    });
    return rows.map(({ id, url, channel, createdAt, disabledAt }) => ({
      id,
      kind: oneOf(CHANNEL_KINDS, channel ?? ''),
      address: channelAddress(url),
      createdAt,
      gone: disabledAt !== null,
    }));
  }

  /** Undefined when the account has no such endpoint. */
  async find(accountId: string, id: string): Promise<WebhookEndpoint | undefined> {
    const row = await this.prisma.webhookEndpoint.findFirst({
      where: { id, accountId, ...ENDPOINTS },
      select: ENDPOINT_COLUMNS,
    });
    return row === null ? undefined : endpointOf(row);
  }

  /** Whether the account has this endpoint, and it is on. */
  async isOn(accountId: string, id: string): Promise<boolean> {
    const where = { id, accountId, disabledAt: null, ...ENDPOINTS };
    return (await this.prisma.webhookEndpoint.count({ where })) === 1;
  }

  /** The ids of the channels among these that work; none given = all of the account. */
  async workingChannels(
    accountId: string,
    ids: readonly string[],
    database: Transaction = this.prisma,
  ): Promise<string[]> {
    const rows = await database.webhookEndpoint.findMany({
      where: { accountId, disabledAt: null, ...CHANNELS, ...(ids.length > 0 && { id: { in: [...ids] } }) },
      select: { id: true },
    });
    return rows.map(({ id }) => id);
  }

  /** Those of these ids that the account has. */
  async existing(accountId: string, ids: readonly string[]): Promise<string[]> {
    const where = { id: { in: inList(ids) }, accountId };
    return (await this.prisma.webhookEndpoint.findMany({ where, select: { id: true } })).map(({ id }) => id);
  }

  /** The URLs of those that the account still has, by id. */
  async urls(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const rows = await this.prisma.webhookEndpoint.findMany({
      where: { accountId, id: { in: [...ids] } },
      select: { id: true, url: true },
    });
    return new Map(rows.map(({ id, url }) => [id, url]));
  }

  /** False when the account has no such endpoint. */
  async setEvents(accountId: string, id: string, events: readonly WebhookEventType[]): Promise<boolean> {
    return await this.update(accountId, id, { events: [...events] });
  }

  /** Switches it on; its pending deliveries continue. False when the account has no such endpoint. */
  async enable(accountId: string, id: string): Promise<boolean> {
    return await this.update(accountId, id, {
      disabledAt: null,
      disabledReason: null,
      timeouts: 0,
      failingSince: null,
    });
  }

  /** Switches it off: it gets nothing new, and its pending deliveries fail when due. False when there is none. */
  async disable(accountId: string, id: string): Promise<boolean> {
    const { count } = await this.prisma.webhookEndpoint.updateMany({
      where: { id, accountId, disabledAt: null, ...ENDPOINTS },
      data: { disabledAt: new Date(), disabledReason: 'owner' },
    });
    return count === 1 || (await this.find(accountId, id)) !== undefined;
  }

  /** Removes it: like `disable`, but permanent. Its deliveries stay in the log. */
  async remove(accountId: string, id: string): Promise<boolean> {
    return (await this.prisma.webhookEndpoint.deleteMany({ where: { id, accountId, ...ENDPOINTS } })).count === 1;
  }

  /** False when the account has no such channel. Messages to it stay in the log. */
  async removeChannel(accountId: string, id: string): Promise<boolean> {
    return (await this.prisma.webhookEndpoint.deleteMany({ where: { id, accountId, ...CHANNELS } })).count === 1;
  }

  /** Removes a deleted account's endpoints and channels; what waits for them is not sent. */
  async removeAll(accountId: string): Promise<void> {
    await this.prisma.webhookEndpoint.deleteMany({ where: { accountId } });
  }

  private async update(
    accountId: string,
    id: string,
    data: Prisma.WebhookEndpointUpdateManyMutationInput,
  ): Promise<boolean> {
    return (await this.prisma.webhookEndpoint.updateMany({ where: { id, accountId, ...ENDPOINTS }, data })).count === 1;
  }
}

type EndpointRow = Omit<WebhookEndpoint, 'events' | 'disabledReason'> & {
  readonly events: readonly string[];
  readonly disabledReason: string | null;
};

function endpointOf({ events, disabledReason, ...row }: EndpointRow): WebhookEndpoint {
  return {
    ...row,
    events: events.map((name) => oneOf(WEBHOOK_EVENTS, name)),
    disabledReason: disabledReason === null ? null : oneOf(REASONS, disabledReason),
  };
}

/** An email address is stored as its mailto: URL. */
function channelUrl(kind: ChannelKind, address: string): string {
  return kind === 'email' ? MAILTO + address : address;
}

/** The address that a channel was added with. */
export function channelAddress(url: string): string {
  return url.startsWith(MAILTO) ? url.slice(MAILTO.length) : url;
}

/** A receiver's URL as it may stay in a log forever: without its query, which may contain tokens. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
