import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import { SLOW_AFTER } from './delivery-moves.js';
import { WebhooksConfig } from './webhooks.config.js';

/**
 * The deliveries that may be attempted now: the heads of each account's line, so many that with those being sent they
 * are no more than its places ($1), and of a slow endpoint one. The receivers of an account (its endpoints, and all of
 * its callback_urls together) take turns, and so do the accounts.
 * Receivers are walked from one to the next along the index, however many deliveries each has waiting.
 */
function headsOf(scope: string): string {
  const receiver = `COALESCE(endpoint_id, '')`;
  const waiting = `FROM webhook_deliveries WHERE state = 'pending' AND ${scope}`;
  return `WITH RECURSIVE receivers AS (
      (SELECT account_id, ${receiver} AS receiver ${waiting} ORDER BY 1, 2 LIMIT 1)
      UNION ALL
      SELECT following.* FROM receivers AS before CROSS JOIN LATERAL (
        SELECT account_id, ${receiver} AS receiver ${waiting}
          AND (account_id, ${receiver}) > (before.account_id, before.receiver) ORDER BY 1, 2 LIMIT 1) AS following),
    sent AS (
      SELECT account_id, ${receiver} AS receiver, count(*) AS count ${waiting} AND lease_until >= now() GROUP BY 1, 2),
    ranked AS (
      SELECT head.*, account_id, receiver, COALESCE(sent.count, 0)
        + row_number() OVER (PARTITION BY account_id, receiver ORDER BY next_try_at, head.id) AS place
      FROM receivers LEFT JOIN sent USING (account_id, receiver) CROSS JOIN LATERAL (
        SELECT id, epoch, next_try_at FROM webhook_deliveries AS due
        WHERE state = 'pending' AND due.account_id = receivers.account_id
          AND COALESCE(due.endpoint_id, '') = receivers.receiver
          AND next_try_at <= now() AND (lease_until IS NULL OR lease_until < now())
        ORDER BY next_try_at LIMIT $1) AS head),
    shared AS (
      SELECT ranked.*, row_number() OVER (PARTITION BY account_id ORDER BY place, next_try_at, id)
        + (SELECT COALESCE(sum(count), 0) FROM sent WHERE sent.account_id = ranked.account_id) AS of_account
      FROM ranked
      WHERE place <= 1 OR NOT EXISTS (
        SELECT FROM webhook_endpoints AS slow WHERE slow.id = ranked.receiver AND slow.timeouts >= ${SLOW_AFTER}))
    SELECT id AS "deliveryId", epoch FROM shared WHERE of_account <= $1 ORDER BY of_account, next_try_at`;
}

const OF_TASK = {
  name: 'webhook_heads_of_task',
  text: headsOf('account_id = (SELECT account_id FROM webhook_deliveries WHERE task_id = $2 LIMIT 1)'),
};
const OF_ACCOUNT = { name: 'webhook_heads_of_account', text: headsOf('account_id = $2') };
const OF_ALL = { name: 'webhook_heads', text: headsOf('true') };

/**
 * The order in which deliveries get a job. They wait in their account's line in Postgres, and only the heads of the
 * lines are in the queue: so the queue holds at most an account's places of each account, and however many deliveries
 * one of them has waiting, the first of another comes right after those.
 */
@Injectable()
export class DeliveryLine {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: WebhooksConfig,
  ) {}

  /** What may be attempted now of the account of a task; nothing when nobody is told of the task. */
  async headsOfTask(taskId: string): Promise<WebhookEntry[]> {
    return this.read({ ...OF_TASK, values: [this.config.concurrencyPerAccount, taskId] });
  }

  /** What may be attempted now of an account. */
  async headsOfAccount(accountId: string): Promise<WebhookEntry[]> {
    return this.read({ ...OF_ACCOUNT, values: [this.config.concurrencyPerAccount, accountId] });
  }

  /** What may be attempted now of every account. */
  async heads(): Promise<WebhookEntry[]> {
    return this.read({ ...OF_ALL, values: [this.config.concurrencyPerAccount] });
  }

  private async read(query: { name: string; text: string; values: unknown[] }): Promise<WebhookEntry[]> {
    return (await this.prisma.pool.query<WebhookEntry>(query)).rows;
  }
}
