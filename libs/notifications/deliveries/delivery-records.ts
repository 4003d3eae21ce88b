import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { EndpointStore, type AlertChannel } from '../endpoint-store.js';
import { oneOf } from '../one-of.js';
import { ATTEMPT_ERRORS, DELIVERY_STATES, type AttemptError, type DeliveryState } from './next-step.js';

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

/** How the newest deliveries to an account's endpoints and channels went. */
@Injectable()
export class DeliveryRecords {
  constructor(
    private readonly prisma: PrismaService,
    private readonly endpoints: EndpointStore,
  ) {}

  /** The records of the endpoints among these that have deliveries in the log. */
  async ofEndpoints(accountId: string, endpointIds: readonly string[]): Promise<EndpointRecord[]> {
    const newest = await this.prisma.$transaction(
      endpointIds.map((endpointId) =>
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
