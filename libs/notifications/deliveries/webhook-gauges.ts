import { Injectable, type OnModuleInit } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Metrics, cachedFor } from '#telemetry/metrics.js';

/** Most deliveries to read, so that no scrape reads a long backlog to its end. */
const MOST = 10_000;
const READ_EVERY_MS = 10_000;

/** Metrics of the webhooks that are still to be delivered. */
@Injectable()
export class WebhookGauges implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly prisma: PrismaService,
  ) {}

  onModuleInit(): void {
    const read = cachedFor(READ_EVERY_MS, () => this.read());
    this.metrics.gauges(
      'webhook_backlog',
      `Webhooks to deliver: due now, or scheduled for a retry. Counts up to ${MOST}; the same on every process.`,
      'state',
      async () => {
        const { due, later } = await read();
        return { due, later };
      },
    );
    this.metrics.gauges(
      'webhook_oldest_due_seconds',
      'How long the oldest due webhook has been waiting; the same on every process.',
      'state',
      async () => ({ due: (await read()).oldestSeconds }),
    );
  }

  private async read() {
    const { webhookDelivery } = this.prisma;
    const now = new Date();
    // In the order of their index, so that none are sorted.
    const orderBy = { nextTryAt: 'asc' } as const;
    const all = await webhookDelivery.count({ where: { state: 'pending' }, orderBy, take: MOST });
    const where = { state: 'pending', nextTryAt: { lte: now } };
    const due = await webhookDelivery.count({ where, orderBy, take: MOST });
    const oldest = await webhookDelivery.findFirst({ where, orderBy, select: { nextTryAt: true } });
    const oldestSeconds = (now.getTime() - (oldest?.nextTryAt ?? now).getTime()) / 1_000;
    return { due, later: Math.max(0, all - due), oldestSeconds };
  }
}
