import { Injectable } from '@nestjs/common';
import { SENT_EVENTS, type SentEventType } from '#contract/webhook-event.js';
import { inList, JSON_PATH_MISSING } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { EndpointStore } from '../endpoint-store.js';
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
  /**
   * Null when the endpoint no longer exists, and for a callback_url, which its task has: the API's console fills it in
   * (`withCallbackUrls`).
   */
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

/** Alerts have a page of their own. */
const NO_ALERT = { message: { equals: JSON_PATH_MISSING } };

/** The log of deliveries with their attempts. Every query filters by account. */
@Injectable()
export class DeliveryLog {
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
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
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

  private async placeOf(accountId: string, id: string): Promise<{ id: string; createdAt: Date } | null> {
    return await this.prisma.webhookDelivery.findFirst({
      where: { id, accountId },
      select: { id: true, createdAt: true },
    });
  }
}
