import { Injectable } from '@nestjs/common';
import { Webhook } from 'standardwebhooks';
import { TaskLinks } from '#answers/task-links.js';
import { webhookBody } from '#answers/webhook-body.js';
import { slackBody, type AlertMessage } from '#contract/alert-message.js';
import type { WebhookEvent, WebhookTestEvent } from '#contract/webhook-event.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { allTasksOf } from '#tasks/row/task.js';
import type { ClaimedDelivery } from '#notifications/deliveries/delivery-transitions.js';
import { WebhookSecretStore } from '#notifications/secret-store.js';
import { WorkerConfig } from '../worker.config.js';

/** An HTTP request to a receiver. */
export interface WebhookMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type MessageDelivery = Pick<
  ClaimedDelivery,
  'id' | 'accountId' | 'taskId' | 'endpointId' | 'event' | 'createdAt' | 'message' | 'channel'
>;

/**
 * Builds and signs messages. A task's message is built from its row at this moment, like a poll response, and never
 * stored; an alert's message was stored when it was created, and is formatted for its channel.
 */
@Injectable()
export class WebhookMessages {
  constructor(
    private readonly tasks: TaskStore,
    private readonly links: TaskLinks,
    private readonly secrets: WebhookSecretStore,
    private readonly config: WorkerConfig,
  ) {}

  /** Undefined when the task no longer exists. Throws UnreadableSecret, and when the database does not answer. */
  async of(delivery: MessageDelivery): Promise<WebhookMessage | undefined> {
    const event = await this.eventOf(delivery);
    if (event === undefined) return undefined;
    const secrets = await this.secrets.valid(delivery.accountId);
    const body = JSON.stringify(delivery.channel === 'slack' && isAlert(event) ? slackBody(event) : event);
    const signed = signedHeaders(
      secrets.map(({ secret }) => secret),
      { id: event.id, at: new Date(), body },
    );
    return { headers: { 'content-type': 'application/json', ...signed }, body };
  }

  /** An alert with the full URL of its page. */
  alert(message: AlertMessage): AlertMessage {
    const { data } = message;
    return { ...message, data: { ...data, url: this.config.publicUrl.replace(/\/+$/, '') + data.url } };
  }

  private async eventOf(
    delivery: MessageDelivery,
  ): Promise<WebhookEvent | WebhookTestEvent | AlertMessage | undefined> {
    const { accountId, taskId, message } = delivery;
    if (message !== null) return this.alert(message);
    const task = taskId === null ? undefined : await this.tasks.find(allTasksOf(accountId), taskId);
    return webhookBody(delivery, task, this.links);
  }
}

function isAlert(event: { readonly type: string }): event is AlertMessage {
  return event.type.startsWith('alert.');
}

/**
 * The headers of a Standard Webhook: one signature per valid secret, so that receivers keep working during rotation.
 */
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
