import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { AlertMessage } from '#contract/alert-message.js';
import { SENT_EVENTS, WEBHOOK_TEST, type SentEventType } from '#contract/webhook-event.js';
import type { Prisma } from '#database/generated/client.js';
import { inList, jsonOf, JSON_PATH_MISSING } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import { EndpointStore, type AlertChannel } from '../endpoint-store.js';
import { oneOf } from '../one-of.js';
import { ATTEMPT_ERRORS, DELIVERY_STATES, type AttemptError, type DeliveryState } from './next-step.js';

/** One attempt to deliver, and the receiver's answer. */
export interface LoggedAttempt {
  /** 1 = the first. */
  readonly number: number;
  readonly startedAt: Date;
  /** Null while it runs, and forever if its worker died. */
  readonly durationMs: number | null;
  readonly status: number | null;
  readonly error: AttemptError | null;
  /** The beginning of the answer's body. */
  readonly answer: string | null;
}

/** The delivery of one event to one receiver, with all attempts. */
export interface LoggedDelivery {
  readonly id: string;
  /** Null = endpoint test. */
  readonly taskId: string | null;
  readonly event: SentEventType;
  /** Null = the task’s callback_url. */
  readonly endpointId: string | null;
  /** Null when the endpoint no longer exists, and for a callback_url, which its task has. */
  readonly url: string | null;
  readonly state: DeliveryState;
  readonly createdAt: Date;
  /** When it is tried next; null once it has ended. */
  readonly nextTryAt: Date | null;
  readonly attempts: readonly LoggedAttempt[];
}

/** Which of an account's deliveries to list; absent fields match all. */
export interface DeliveryQuery {
  readonly taskId?: string | undefined;
  readonly endpointId?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** Id of the last delivery of the page before. */
  readonly after?: string | undefined;
  /** 1..101 */
  readonly limit: number;
}

/** What a delivery is about. */
type FoundDelivery = Pick<LoggedDelivery, 'id' | 'taskId' | 'endpointId' | 'event' | 'createdAt'>;

/** How many of an endpoint's newest deliveries were delivered or failed. */
export interface EndpointRecord {
  readonly endpointId: string;
  readonly delivered: number;
  readonly failed: number;
  /** When its newest delivery was created. */
  readonly lastAt: Date;
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

/** A channel with its newest message; undefined when there is none in the log. */
export interface ChannelWithLast extends AlertChannel {
  readonly last: ChannelDelivery | undefined;
}

/** How many deliveries a record looks back. */
const RECORD = 100;
const NEWEST_FIRST: Prisma.WebhookDeliveryOrderByWithRelationInput[] = [{ createdAt: 'desc' }, { id: 'desc' }];
/** Alerts have a page of their own. */
const NO_ALERT = { message: { equals: JSON_PATH_MISSING } };

/**
 * Deliveries and their attempts: the log, and what is written besides the ends of tasks, which a trigger writes. An
 * attempt's claim and outcome are in delivery-transitions.ts. Every query filters by account.
 */
@Injectable()
export class DeliveryStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly endpoints: EndpointStore,
  ) {}

  /** Newest first. After a delivery that no longer exists comes nothing: older ones were deleted with it. */
  async list(accountId: string, { taskId, endpointId, state, after, limit }: DeliveryQuery): Promise<LoggedDelivery[]> {
    const last = after === undefined ? undefined : await this.placeOf(accountId, after);
    if (last === null) return [];
    const rows = await this.prisma.webhookDelivery.findMany({
      where: {
        accountId,
        ...NO_ALERT,
        ...(taskId === undefined ? {} : { taskId }),
        ...(endpointId === undefined ? {} : { endpointId }),
        ...(state === undefined ? {} : { state }),
        // The first condition lets an index be used.
        ...(last === undefined
          ? {}
          : {
              createdAt: { lte: last.createdAt },
              OR: [{ createdAt: { lt: last.createdAt } }, { id: { lt: last.id } }],
            }),
      },
      orderBy: NEWEST_FIRST,
      take: limit,
      include: { log: { orderBy: { number: 'asc' } } },
    });
    const ofEndpoints = new Set(rows.flatMap((row) => row.endpointId ?? []));
    const urls = await this.endpoints.urls(accountId, [...ofEndpoints]);
    return rows.map(({ id, taskId: ofTask, endpointId: ofEndpoint, createdAt, nextTryAt, ...row }) => ({
      id,
      taskId: ofTask,
      endpointId: ofEndpoint,
      createdAt,
      nextTryAt,
      event: oneOf(SENT_EVENTS, row.event),
      state: oneOf(DELIVERY_STATES, row.state),
      url: urls.get(ofEndpoint ?? '') ?? null,
      attempts: row.log.map(({ number, startedAt, durationMs, status, error, answer }) => ({
        number,
        startedAt,
        durationMs,
        status,
        answer,
        error: error === null ? null : oneOf(ATTEMPT_ERRORS, error),
      })),
    }));
  }

  /** One delivery; undefined when the account has no such delivery. */
  async find(accountId: string, id: string): Promise<FoundDelivery | undefined> {
    const select = { id: true, taskId: true, endpointId: true, event: true, createdAt: true };
    const found = await this.prisma.webhookDelivery.findFirst({ where: { id, accountId, ...NO_ALERT }, select });
    return found === null ? undefined : { ...found, event: oneOf(SENT_EVENTS, found.event) };
  }

  /** Those of these ids of deliveries that the account has. */
  async existing(accountId: string, ids: readonly string[]): Promise<string[]> {
    const where = { id: { in: inList(ids) }, accountId };
    return (await this.prisma.webhookDelivery.findMany({ where, select: { id: true } })).map(({ id }) => id);
  }

  /** The records of the endpoints among these that have deliveries in the log. */
  async records(accountId: string, endpointIds: readonly string[]): Promise<EndpointRecord[]> {
    const newest = await this.prisma.$transaction(
      endpointIds.map((endpointId) =>
        this.prisma.webhookDelivery.findMany({
          where: { endpointId, accountId },
          orderBy: NEWEST_FIRST,
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

  /** The channels of an account, newest first, each with how its newest message went. */
  async channels(accountId: string): Promise<ChannelWithLast[]> {
    const channels = await this.endpoints.channels(accountId);
    const newest = await this.prisma.$transaction(
      channels.map(({ id: endpointId }) =>
        this.prisma.webhookDelivery.findFirst({
          where: { endpointId },
          orderBy: NEWEST_FIRST,
          include: { log: { orderBy: { number: 'desc' }, take: 1 } },
        }),
      ),
    );
    return channels.map((channel, index) => {
      const last = newest[index];
      return { ...channel, last: last ? channelDelivery(last, last.log[0]) : undefined };
    });
  }

  /**
   * Writes a test event for an endpoint, due at once. Undefined when the account has no such endpoint, or when it is
   * switched off. Pass the result to SendDeliveries.enqueue.
   */
  async addTest(accountId: string, endpointId: string): Promise<WebhookEntry | undefined> {
    if (!(await this.endpoints.isOn(accountId, endpointId))) return undefined;
    return await this.add({ ...newDelivery(accountId, endpointId), event: WEBHOOK_TEST });
  }

  /** Writes a message for a channel; undefined if none such works. Pass the result to SendDeliveries.enqueue. */
  async addMessage(accountId: string, channelId: string, message: AlertMessage): Promise<WebhookEntry | undefined> {
    if ((await this.endpoints.workingChannels(accountId, [channelId])).length === 0) return undefined;
    return await this.add(newMessage(accountId, channelId, message));
  }

  /**
   * Writes a message for the given channels of an account; none given = all. After committing the transaction, the
   * caller makes SendDeliveries enqueue them.
   */
  async addMessages(
    transaction: Transaction,
    accountId: string,
    message: AlertMessage,
    channelIds: readonly string[],
  ): Promise<void> {
    const channels = await this.endpoints.workingChannels(accountId, channelIds, transaction);
    await transaction.webhookDelivery.createMany({ data: channels.map((id) => newMessage(accountId, id, message)) });
  }

  /**
   * Makes a delivery due at once, under the same webhook-id, and restarts its schedule. Undefined when the account
   * has no such delivery, or when it is being attempted right now. Pass the result to SendDeliveries.enqueue; otherwise
   * a sweep finds the delivery within seconds.
   */
  async resend(accountId: string, id: string): Promise<WebhookEntry | undefined> {
    const now = new Date();
    const [row] = await this.prisma.webhookDelivery.updateManyAndReturn({
      where: { id, accountId, OR: [{ leaseUntil: null }, { leaseUntil: { lt: now } }] },
      data: {
        state: 'pending',
        tries: 0,
        epoch: { increment: 1 },
        nextTryAt: now,
        leaseUntil: null,
        endedAt: null,
      },
      select: { id: true, epoch: true },
    });
    return row && { deliveryId: row.id, epoch: row.epoch };
  }

  private async add(data: Prisma.WebhookDeliveryCreateInput): Promise<WebhookEntry> {
    const { id, epoch } = await this.prisma.webhookDelivery.create({ data, select: { id: true, epoch: true } });
    return { deliveryId: id, epoch };
  }

  private async placeOf(accountId: string, id: string): Promise<{ id: string; createdAt: Date } | null> {
    return await this.prisma.webhookDelivery.findFirst({
      where: { id, accountId },
      select: { id: true, createdAt: true },
    });
  }
}

/** The tasks among these whose deliveries are still tried, or have ended since a time. */
export async function tasksWithDeliveries(
  database: Transaction,
  taskIds: readonly string[],
  endedSince?: Date,
): Promise<ReadonlySet<string>> {
  const found = await database.webhookDelivery.findMany({
    where: {
      taskId: { in: inList(taskIds) },
      OR: [{ state: 'pending' }, ...(endedSince === undefined ? [] : [{ endedAt: { gt: endedSince } }])],
    },
    select: { taskId: true },
  });
  return new Set(found.flatMap(({ taskId }) => taskId ?? []));
}

function newDelivery(accountId: string, endpointId: string) {
  return { id: `whd_${randomUUID().replaceAll('-', '')}`, accountId, endpointId, nextTryAt: new Date() };
}

function newMessage(accountId: string, channelId: string, message: AlertMessage) {
  return { ...newDelivery(accountId, channelId), event: message.type, message: jsonOf(message) };
}

function channelDelivery(
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
