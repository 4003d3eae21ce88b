import type { TaskLinks } from '#answers/task-links.js';
import { webhookEvent, webhookEventId, type WebhookEventType } from '#contract/webhook-event.js';
import type { TaskStore } from '#tasks/task-store.js';
import type { WebhookSecretStore } from '#webhooks/secret-store.js';
import { signedHeaders } from '#webhooks/signed-headers.js';

/** What is sent to a receiver. */
export interface WebhookMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Writes and signs what is told of a task: from the row, as a poll would answer at this moment, so it is never kept. */
export class WebhookMessages {
  constructor(
    private readonly tasks: TaskStore,
    private readonly links: TaskLinks,
    private readonly secrets: WebhookSecretStore,
  ) {}

  /** Undefined when the task is no more. Throws UnreadableSecret, and when the database does not answer. */
  async of(accountId: string, taskId: string, type: WebhookEventType): Promise<WebhookMessage | undefined> {
    const task = await this.tasks.find(accountId, taskId);
    if (task === undefined || task.finishedAt === null) return undefined;
    const secrets = await this.secrets.valid(accountId);
    const body = JSON.stringify(webhookEvent(type, task.finishedAt, this.links.view(task)));
    const signed = signedHeaders(
      secrets.map(({ secret }) => secret),
      { id: webhookEventId(taskId), at: new Date(), body },
    );
    return { headers: { 'content-type': 'application/json', ...signed }, body };
  }
}
