import { Injectable } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { SendDeliveries } from '#webhooks/send-deliveries.js';
import type { AlertRule } from './alert-rule.repository.js';

/** Where what the rules found goes: messages into the queue, failures into the log. */
@Injectable()
export class AlertOutlet {
  constructor(
    private readonly deliveries: SendDeliveries,
    private readonly logger: Logger,
  ) {}

  /** Lets the messages of an account go; those that get no job now are found by the sweep. Never fails. */
  async send({ accountId }: AlertRule): Promise<void> {
    await this.deliveries.follow(accountId);
  }

  /** A rule could not be held against anything. */
  failed({ accountId, kind }: AlertRule, error: unknown): void {
    this.logger.warn('alerts.not_evaluated', { accountId, code: kind, error });
  }
}
