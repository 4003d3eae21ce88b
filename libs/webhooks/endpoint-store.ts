import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import { lockAccount } from '#accounts/accounts.sql.js';
import { AppError } from '#contract/app-error.js';
import { WEBHOOK_EVENTS, type WebhookEventType } from '#contract/webhook-event.js';
import { PrismaService } from '#database/prisma.service.js';
import { oneOf } from './one-of.js';
import type { DeliveryState } from './next-step.js';
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
}

/** How many of an endpoint's newest deliveries were delivered or failed. */
export interface EndpointRecord {
  readonly endpointId: string;
  readonly delivered: number;
  readonly failed: number;
  /** When its newest delivery was created. */
  readonly lastAt: Date;
}

/** How many deliveries a record looks back. */
const RECORD = 100;
const REASONS = ['gone', 'owner'] as const;
const COLUMNS = { id: true, url: true, events: true, createdAt: true, disabledAt: true, disabledReason: true } as const;

/** The endpoints of accounts. Another account's id counts as unknown, as everywhere. */
@Injectable()
export class WebhookEndpointStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: WebhooksConfig,
  ) {}

  /**
   * Adds an endpoint and returns its id. The URL must have been checked (publicUrlProblem).
   * Throws AppError `account_limit_reached` when the account has reached its limit of endpoints.
   */
  async add(accountId: string, url: string, events: readonly WebhookEventType[] = WEBHOOK_EVENTS): Promise<string> {
    const id = `whe_${ulid()}`;
    const most = this.config.endpointsPerAccount;
    await this.prisma.$transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      if (most > 0 && (await transaction.webhookEndpoint.count({ where: { accountId, channel: null } })) >= most)
        throw tooMany(most);
      await transaction.webhookEndpoint.create({ data: { id, accountId, url, events: [...events] } });
    });
    return id;
  }

  /** Newest first. */
  async list(accountId: string): Promise<WebhookEndpoint[]> {
    const rows = await this.prisma.webhookEndpoint.findMany({
      where: { accountId, channel: null },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      select: COLUMNS,
    });
    return rows.map(endpointOf);
  }

  /** Undefined when the account has no such endpoint. */
  async find(accountId: string, id: string): Promise<WebhookEndpoint | undefined> {
    const row = await this.prisma.webhookEndpoint.findFirst({
      where: { id, accountId, channel: null },
      select: COLUMNS,
    });
    return row === null ? undefined : endpointOf(row);
  }

  /** The records of the endpoints among these that have deliveries in the log. */
  async records(accountId: string, ids: readonly string[]): Promise<EndpointRecord[]> {
    const newest = await this.prisma.$transaction(
      ids.map((endpointId) =>
        this.prisma.webhookDelivery.findMany({
          where: { endpointId, accountId },
          orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
          take: RECORD,
          select: { endpointId: true, state: true, createdAt: true },
        }),
      ),
    );
    return newest.flatMap((deliveries) => {
      const [last] = deliveries;
      if (last === undefined || last.endpointId === null) return [];
      const count = (wanted: DeliveryState): number => deliveries.filter(({ state }) => state === wanted).length;
      const { endpointId, createdAt: lastAt } = last;
      return [{ endpointId, lastAt, delivered: count('delivered'), failed: count('failed') }];
    });
  }

  /** False when the account has no such endpoint. */
  async setEvents(accountId: string, id: string, events: readonly WebhookEventType[]): Promise<boolean> {
    return await this.update(accountId, id, { events: [...events] });
  }

  /** Switches it on; its pending deliveries continue. False when the account has no such endpoint. */
  async enable(accountId: string, id: string): Promise<boolean> {
    return await this.update(accountId, id, { disabledAt: null, disabledReason: null, timeouts: 0 });
  }

  /** Switches it off: it gets nothing new, and its pending deliveries fail when due. False when there is none. */
  async disable(accountId: string, id: string): Promise<boolean> {
    const { count } = await this.prisma.webhookEndpoint.updateMany({
      where: { id, accountId, channel: null, disabledAt: null },
      data: { disabledAt: new Date(), disabledReason: 'owner' },
    });
    return count === 1 || (await this.find(accountId, id)) !== undefined;
  }

  /** Removes it: like `disable`, but permanent. Its deliveries stay in the log. */
  async remove(accountId: string, id: string): Promise<boolean> {
    return (await this.prisma.webhookEndpoint.deleteMany({ where: { id, accountId, channel: null } })).count === 1;
  }

  /** Removes an account's endpoints, alert channels and signing secrets; deleted accounts' deliveries are not sent. */
  async removeAll(accountId: string): Promise<void> {
    const { webhookEndpoint, webhookSecret } = this.prisma;
    await this.prisma.$transaction([
      webhookEndpoint.deleteMany({ where: { accountId } }),
      webhookSecret.deleteMany({ where: { accountId } }),
    ]);
  }

  private async update(accountId: string, id: string, data: EndpointChange): Promise<boolean> {
    return (
      (await this.prisma.webhookEndpoint.updateMany({ where: { id, accountId, channel: null }, data })).count === 1
    );
  }
}

type EndpointChange = { events: WebhookEventType[] } | { disabledAt: null; disabledReason: null; timeouts: number };

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

function tooMany(most: number): AppError {
  return new AppError(
    'account_limit_reached',
    `The account has reached its limit of ${most} webhook endpoints. Remove one first.`,
  );
}

/** A receiver's URL as it may stay in a log forever: without its query, which may contain tokens. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
