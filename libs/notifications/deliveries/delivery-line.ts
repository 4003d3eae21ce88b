import { Injectable } from '@nestjs/common';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import { headsOfLines } from './delivery.sql.js';
import { WebhooksConfig } from '../webhooks.config.js';

/**
 * The order in which new deliveries get a job. They wait in their account's line in Postgres, and only the heads of the
 * lines are in the queue: at most `concurrencyPerAccount` of each account. So however many one account has waiting, the
 * first of another account comes right after those. Retries, tests and resends have delayed or direct jobs beside the line.
 */
@Injectable()
export class DeliveryLine {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: WebhooksConfig,
  ) {}

  /** What may be attempted now of the accounts of these tasks; empty when the tasks have no deliveries. */
  async headsOfTasks(taskIds: readonly string[]): Promise<WebhookEntry[]> {
    const accounts = await this.prisma.webhookDelivery.findMany({
      where: { taskId: { in: inList(taskIds) } },
      select: { accountId: true },
      distinct: 'accountId',
    });
    return (await Promise.all(accounts.map(async ({ accountId }) => this.headsOfAccount(accountId)))).flat();
  }

  /** What may be attempted now of an account. */
  async headsOfAccount(accountId: string): Promise<WebhookEntry[]> {
    return await headsOfLines(this.prisma, { accountId }, this.config.concurrencyPerAccount);
  }

  /** What may be attempted now of every account. */
  async heads(): Promise<WebhookEntry[]> {
    return await headsOfLines(this.prisma, 'all', this.config.concurrencyPerAccount);
  }
}
