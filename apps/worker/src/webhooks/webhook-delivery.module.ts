import { Module } from '@nestjs/common';
import { TaskLinks } from '#answers/task-links.js';
import { EgressModule } from '#egress/egress.module.js';
import { MailModule } from '#notifications/mail/mail.module.js';
import { JobsModule } from '#queue/queue.module.js';
import { ATTEMPT_WINDOW_SECONDS, AttemptLimiter } from '#limits/attempt-limiter.js';
import { RateCounter } from '#limits/rate-counter.js';
import { ProducerRedisModule } from '#redis/redis.module.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { ResultLinks } from '#storage/result-links.js';
import { LinkSigner } from '#storage/signed-link.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { WorkerConfig } from '../worker.config.js';
import { ALERT_MAIL_SECONDS, AlertMails } from './alert-mails.js';
import { DeliverWebhook } from './deliver-webhook.js';
import { WebhookMessages } from './webhook-message.js';
import { WebhookProcessor } from './webhook.processor.js';

/** Creates signed links; each process has the public URL in its own settings. */
const signer = {
  provide: LinkSigner,
  inject: [SecretsConfig, WorkerConfig],
  useFactory: ({ secretKey, secretKeyPrevious: previousSecretKey }: SecretsConfig, { publicUrl }: WorkerConfig) =>
    new LinkSigner({ secretKey, previousSecretKey }, publicUrl),
};

/** Delivers webhooks and alerts. */
@Module({
  imports: [JobsModule, ProducerRedisModule, TasksModule, NotificationsModule, EgressModule, MailModule],
  providers: [
    WebhookProcessor,
    DeliverWebhook,
    AlertMails,
    AttemptLimiter,
    RateCounter,
    { provide: ATTEMPT_WINDOW_SECONDS, useValue: ALERT_MAIL_SECONDS },
    WebhookMessages,
    TaskLinks,
    ResultLinks,
    signer,
  ],
})
export class WebhookDeliveryModule {}
