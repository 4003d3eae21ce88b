import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { EndpointStore, type AlertChannel } from '../endpoint-store.js';
import { oneOf } from '../one-of.js';
import { countDeliveries, type DeliveryCounts } from './delivery.sql.js';
import { ATTEMPT_ERRORS, DELIVERY_STATES, type AttemptError, type DeliveryState } from './next-step.js';

const HOUR_MS = 3_600_000;
/** What records of endpoints cover: the last hours, and at most so many deliveries of each endpoint. */
export const RECORD_HOURS = 24;
const MAX_RECORDED = 1_000;

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

/** How the newest deliveries to an account's endpoints and channels went. */
@Injectable()
export class DeliveryRecords {
  constructor(
    private readonly prisma: PrismaService,
    private readonly endpoints: EndpointStore,
  ) {}

  /** How the deliveries of the last hours went, of those of these endpoints that had any. */
  async ofEndpoints(accountId: string, endpointIds: readonly string[]): Promise<DeliveryCounts[]> {
    const since = new Date(Date.now() - RECORD_HOURS * HOUR_MS);
    return await countDeliveries(this.prisma, accountId, endpointIds, { since, most: MAX_RECORDED });
  }

  /** The channels of an account, newest first, each with how its newest message went. */
  async ofChannels(accountId: string): Promise<ChannelWithLast[]> {
    const channels = await this.endpoints.channels(accountId);
    const newest = await this.prisma.$transaction(
      channels.map(({ id: endpointId }) =>
        this.prisma.webhookDelivery.findFirst({
          where: { endpointId },
          orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
          include: { log: { orderBy: { number: 'desc' }, take: 1 } },
        }),
      ),
    );
    return channels.map((channel, index) => {
      const last = newest[index];
      return { ...channel, last: last ? channelDelivery(last, last.log[0]) : undefined };
    });
  }
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
