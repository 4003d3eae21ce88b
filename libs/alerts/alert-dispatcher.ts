import { Injectable } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { SendDeliveries } from '#webhooks/send-deliveries.js';
import type { AlertRule } from './alert-rule.repository.js';

/** Where an evaluation's results go: messages to the queue, failures to the log. */
@Injectable()
export class AlertDispatcher {
  constructor(
    private readonly deliveries: SendDeliveries,
    private readonly logger: Logger,
  ) {}

  /** Enqueues the account's new messages; the sweep finds those that could not be enqueued. Never fails. */
  async send({ accountId }: AlertRule): Promise<void> {
    await this.deliveries.follow(accountId);
  }

  /** Logs a rule that could not be evaluated. */
  failed({ accountId, kind }: AlertRule, error: unknown): void {
    this.logger.warn('alerts.not_evaluated', { accountId, code: kind, error });
  }
}
