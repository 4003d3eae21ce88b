import { Inject, Injectable } from '@nestjs/common';
import type { WebhookEventType } from '#contract/webhook-event.js';
import { Database } from '#database/database.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { DeliveryLogStore } from '#webhooks/delivery-log-store.js';
import { WebhookEndpointStore } from '#webhooks/endpoint-store.js';
import { WEBHOOK_SECRETS, WebhookSecretStore } from '#webhooks/secret-store.js';
import { SendDeliveries } from '#webhooks/send-deliveries.js';

const HOUR_MS = 3_600_000;
const SHOWN_DELIVERIES = 100;

/** An account's webhooks as its people manage them. */
@Injectable()
export class AccountWebhooks {
  private readonly store: WebhookEndpointStore;
  private readonly secretStore: WebhookSecretStore;
  private readonly deliveryLog: DeliveryLogStore;

  constructor(
    @Inject(Database) { pool }: Database,
    @Inject(SecretsConfig) { secretKey, secretKeyPrevious }: SecretsConfig,
    @Inject(SendDeliveries) private readonly send: SendDeliveries,
  ) {
    this.store = new WebhookEndpointStore(pool);
    this.secretStore = new WebhookSecretStore(pool, new TextSealer({ secretKey, secretKeyPrevious }, WEBHOOK_SECRETS));
    this.deliveryLog = new DeliveryLogStore(pool);
  }

  async endpoints(accountId: string) {
    return (await this.store.list(accountId)).map(({ id, url, events, createdAt, disabledAt, disabledReason }) => ({
      ...{ id, url, events, created_at: createdAt.toISOString() },
      ...{ disabled_at: disabledAt?.toISOString() ?? null, disabled_reason: disabledReason },
    }));
  }

  /** The URL must have been checked. */
  async add(accountId: string, url: string, events: readonly WebhookEventType[]): Promise<string> {
    return await this.store.add(accountId, url, events);
  }

  async remove(accountId: string, id: string): Promise<boolean> {
    return await this.store.remove(accountId, id);
  }

  async secrets(accountId: string) {
    return (await this.secretStore.valid(accountId)).map(({ id, secret, createdAt, expiresAt }) => ({
      ...{ id, secret, created_at: createdAt.toISOString(), expires_at: expiresAt?.toISOString() ?? null },
    }));
  }

  async rotate(accountId: string, overlapHours: number) {
    await this.secretStore.rotate(accountId, overlapHours * HOUR_MS);
    return await this.secrets(accountId);
  }

  async deliveries(accountId: string, taskId: string | undefined) {
    const rows = await this.deliveryLog.list(accountId, { taskId, limit: SHOWN_DELIVERIES });
    return rows.map(({ id, taskId: task, event, endpointId, state, createdAt, nextTryAt, attempts }) => ({
      ...{ id, task_id: task, event, endpoint_id: endpointId, status: state, created_at: createdAt.toISOString() },
      next_try_at: nextTryAt?.toISOString() ?? null,
      attempts: attempts.map(({ number, startedAt, durationMs, status, error }) => ({
        ...{ number, started_at: startedAt.toISOString(), duration_ms: durationMs, status, error },
      })),
    }));
  }

  /** False when the account has no such delivery, or when it is being attempted right now. */
  async resend(accountId: string, id: string): Promise<boolean> {
    const entry = await this.deliveryLog.resend(accountId, id);
    if (entry !== undefined) await this.send.enqueue(entry);
    return entry !== undefined;
  }
}
