import { Injectable } from '@nestjs/common';
import { Webhook } from 'standardwebhooks';
import { TaskLinks } from '#answers/task-links.js';
import { TaskStore } from '#tasks/task-store.js';
import type { ClaimedDelivery } from '#webhooks/delivery-transitions.js';
import { WebhookSecretStore } from '#webhooks/secret-store.js';

/** What is sent to a receiver. */
export interface WebhookMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type ToldDelivery = Pick<ClaimedDelivery, 'id' | 'accountId' | 'taskId' | 'endpointId' | 'event' | 'createdAt'>;

/** Writes and signs what is told of a task: from the row, as a poll would answer at this moment, so it is never kept. */
@Injectable()
export class WebhookMessages {
  constructor(
    private readonly tasks: TaskStore,
    private readonly links: TaskLinks,
    private readonly secrets: WebhookSecretStore,
  ) {}

  /** Undefined when the task is no more. Throws UnreadableSecret, and when the database does not answer. */
  async of(delivery: ToldDelivery): Promise<WebhookMessage | undefined> {
    const { accountId, taskId } = delivery;
    const task = taskId === null ? undefined : await this.tasks.find(accountId, taskId);
    const event = this.links.event(delivery, task);
    if (event === undefined) return undefined;
    const secrets = await this.secrets.valid(accountId);
    const body = JSON.stringify(event);
    const signed = signedHeaders(
      secrets.map(({ secret }) => secret),
      { id: event.id, at: new Date(), body },
    );
    return { headers: { 'content-type': 'application/json', ...signed }, body };
  }
}

/** The headers of a Standard Webhook: one signature for each secret that is valid, so that rotating breaks no one. */
function signedHeaders(
  secrets: readonly string[],
  message: { readonly id: string; readonly at: Date; readonly body: string },
): Record<string, string> {
  const { id, at, body } = message;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}
