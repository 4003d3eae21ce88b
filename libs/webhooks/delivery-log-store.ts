import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { SENT_EVENTS, WEBHOOK_TEST, type SentEventType } from '#contract/webhook-event.js';
import { oneOf } from './one-of.js';
import { JSON_PATH_MISSING } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
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
  /** Null when the endpoint, or the task whose callback_url it is, no longer exists. */
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

/** The log of deliveries and their attempts, with tests and resends on request. Every query filters by account. */
@Injectable()
export class DeliveryLogStore {
  constructor(private readonly prisma: PrismaService) {}

  /** Newest first. After a delivery that no longer exists comes nothing: older ones were deleted with it. */
  async list(accountId: string, { taskId, endpointId, state, after, limit }: DeliveryQuery): Promise<LoggedDelivery[]> {
    const last = after === undefined ? undefined : await this.placeOf(accountId, after);
    if (last === null) return [];
    const rows = await this.prisma.webhookDelivery.findMany({
      where: {
        accountId,
        // Alerts have a page of their own.
        message: { equals: JSON_PATH_MISSING },
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
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: limit,
      include: { log: { orderBy: { number: 'asc' } } },
    });
    const urls = await this.urlsOf(accountId, rows);
    return rows.map(({ id, taskId: ofTask, endpointId: ofEndpoint, createdAt, nextTryAt, ...row }) => ({
      id,
      taskId: ofTask,
      endpointId: ofEndpoint,
      createdAt,
      nextTryAt,
      event: oneOf(SENT_EVENTS, row.event),
      state: oneOf(DELIVERY_STATES, row.state),
      url: urls.get(ofEndpoint ?? ofTask ?? '') ?? null,
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
    const where = { id, accountId, message: { equals: JSON_PATH_MISSING } };
    const found = await this.prisma.webhookDelivery.findFirst({ where, select });
    return found === null ? undefined : { ...found, event: oneOf(SENT_EVENTS, found.event) };
  }

  /**
   * Writes a test event for an endpoint, due at once. Undefined when the account has no such endpoint, or when it is
   * switched off. Pass the result to SendDeliveries.enqueue.
   */
  async addTest(accountId: string, endpointId: string): Promise<WebhookEntry | undefined> {
    const where = { id: endpointId, accountId, disabledAt: null, channel: null };
    if ((await this.prisma.webhookEndpoint.count({ where })) === 0) return undefined;
    const id = `whd_${randomUUID().replaceAll('-', '')}`;
    const { epoch } = await this.prisma.webhookDelivery.create({
      data: { id, accountId, endpointId, event: WEBHOOK_TEST, nextTryAt: new Date() },
      select: { epoch: true },
    });
    return { deliveryId: id, epoch };
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

  private async placeOf(accountId: string, id: string): Promise<{ id: string; createdAt: Date } | null> {
    return await this.prisma.webhookDelivery.findFirst({
      where: { id, accountId },
      select: { id: true, createdAt: true },
    });
  }

  /** The URLs of deliveries, by the id of their endpoint, or of the task whose callback_url it is. */
  private async urlsOf(
    accountId: string,
    rows: readonly Pick<LoggedDelivery, 'taskId' | 'endpointId'>[],
  ): Promise<ReadonlyMap<string, string | null>> {
    const endpointIds = new Set(rows.flatMap(({ endpointId }) => endpointId ?? []));
    const taskIds = new Set(rows.flatMap(({ taskId, endpointId }) => (endpointId === null ? (taskId ?? []) : [])));
    const [endpoints, tasks] = await Promise.all([
      endpointIds.size === 0
        ? []
        : this.prisma.webhookEndpoint.findMany({
            where: { accountId, id: { in: [...endpointIds] } },
            select: { id: true, url: true },
          }),
      taskIds.size === 0
        ? []
        : this.prisma.task.findMany({
            where: { accountId, id: { in: [...taskIds] } },
            select: { id: true, callbackUrl: true },
          }),
    ]);
    return new Map([
      ...endpoints.map(({ id, url }) => [id, url] as const),
      ...tasks.map(({ id, callbackUrl }) => [id, callbackUrl] as const),
    ]);
  }
}
