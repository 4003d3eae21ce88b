import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { AlertMessage } from '#contract/alert-message.js';
import { WEBHOOK_TEST } from '#contract/webhook-event.js';
import { inList, jsonOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import { EndpointStore } from '../endpoint-store.js';

/**
 * Deliveries besides those of tasks, which a trigger creates: tests of endpoints, messages of alerts, and what is sent
 * again. Every statement names the account.
 */
@Injectable()
export class NewDeliveries {
  constructor(
    private readonly prisma: PrismaService,
    private readonly endpoints: EndpointStore,
  ) {}

  /**
   * Writes a test event for an endpoint, due at once. Undefined when the account has no such endpoint, or when it is
   * switched off. Pass the result to EnqueueDeliveries.enqueue.
   */
  async addTest(accountId: string, endpointId: string): Promise<WebhookEntry | undefined> {
    if (!(await this.endpoints.isOn(accountId, endpointId))) return undefined;
    return await this.add({ ...newDelivery(accountId, endpointId), event: WEBHOOK_TEST });
  }

  /** Writes a message for a channel; undefined if none such works. Pass the result to EnqueueDeliveries.enqueue. */
  async addMessage(accountId: string, channelId: string, message: AlertMessage): Promise<WebhookEntry | undefined> {
    if ((await this.endpoints.workingChannels(accountId, [channelId])).length === 0) return undefined;
    return await this.add(newMessage(accountId, channelId, message));
  }

  /**
   * Writes a message for the given channels of an account; none given = all. After committing the transaction, the
   * caller makes EnqueueDeliveries enqueue them.
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
   * has no such delivery, or when it is being attempted right now. Pass the result to EnqueueDeliveries.enqueue; otherwise
   * a sweep finds the delivery within seconds.
   */
  async resend(accountId: string, id: string): Promise<WebhookEntry | undefined> {
    const now = new Date();
    const [row] = await this.prisma.webhookDelivery.updateManyAndReturn({
      where: { id, accountId, OR: [{ leaseUntil: null }, { leaseUntil: { lt: now } }] },
      data: dueNow(now),
      select: { id: true, epoch: true },
    });
    return row && { deliveryId: row.id, epoch: row.epoch };
  }

  /**
   * Makes a batch of an endpoint's failed deliveries due at once, like `resend`: those that were given up, and those that
   * wait for another try. What was resent counts as failed again only after its next attempt, so a repetition changes
   * nothing. Newest first; `after` is the last one of the batch before. Then call EnqueueDeliveries.enqueueNext.
   */
  async resendFailed(
    accountId: string,
    endpointId: string,
    { after, limit }: { readonly after: string | undefined; readonly limit: number },
  ): Promise<{ readonly count: number; readonly next: string | null }> {
    const { webhookDelivery } = this.prisma;
    const last = after === undefined ? undefined : await webhookDelivery.findFirst({ where: { id: after, accountId } });
    if (last === null) return { count: 0, next: null };
    const failed = { OR: [{ state: 'failed' }, { state: 'pending', tries: { gte: 1 }, leaseUntil: null }] };
    const rows = await webhookDelivery.findMany({
      where: {
        accountId,
        endpointId,
        AND: [
          failed,
          last === undefined
            ? {}
            : { OR: [{ createdAt: { lt: last.createdAt } }, { createdAt: last.createdAt, id: { lt: last.id } }] },
        ],
      },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: limit,
      select: { id: true },
    });
    const { count } = await webhookDelivery.updateMany({
      where: { id: { in: inList(rows.map(({ id }) => id)) }, accountId, ...failed },
      data: dueNow(),
    });
    return { count, next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
  }

  private async add(data: NewRow): Promise<WebhookEntry> {
    const { id, epoch } = await this.prisma.webhookDelivery.create({ data, select: { id: true, epoch: true } });
    return { deliveryId: id, epoch };
  }
}

/** The columns of a delivery whose schedule begins anew. */
function dueNow(now = new Date()) {
  return { state: 'pending', tries: 0, epoch: { increment: 1 }, nextTryAt: now, leaseUntil: null, endedAt: null };
}

type NewRow = ReturnType<typeof newDelivery> & { readonly event: string; readonly message?: ReturnType<typeof jsonOf> };

function newDelivery(accountId: string, endpointId: string) {
  return { id: `whd_${randomUUID().replaceAll('-', '')}`, accountId, endpointId, nextTryAt: new Date() };
}

function newMessage(accountId: string, channelId: string, message: AlertMessage) {
  return { ...newDelivery(accountId, channelId), event: message.type, message: jsonOf(message) };
}
