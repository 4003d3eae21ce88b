// The worker of apps/worker, with the same modules, but with retention running continuously instead of every ten
// minutes.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AuditLog } from '#accounts/audit-log.js';
import { ExpireChatUsage } from '#billing/expire-chat-usage.js';
import { ExpireLedger } from '#billing/expire-ledger.js';
import { ExpireIdempotencyKeys } from '#tasks/retention/expire-idempotency-keys.js';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import { Logger, NestLogger } from '#telemetry/logger.js';
import { ExpireWebhooks } from '#notifications/deliveries/expire-webhooks.js';
import { WorkerConfig } from '../dist/apps/worker/src/worker.config.js';
import { WorkerModule } from '../dist/apps/worker/src/worker.module.js';

const PAUSE_MS = 10_000;

const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(process.env), { bufferLogs: true });
const logger = app.get(Logger);
app.useLogger(new NestLogger(logger));
app.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
logger.info('worker.started', { pid: process.pid });

const config = app.get(WorkerConfig);
/** Each has its own timer, so that they don't wait for each other. */
for (const owner of [ExpireTasks, ExpireWebhooks, ExpireChatUsage, ExpireLedger, ExpireIdempotencyKeys])
  repeat(() => app.get(owner).run(config));
repeat(() => app.get(AuditLog).expire(config));

function repeat(work) {
  work()
    .catch((error) => logger.warn('retention.failed', { error }))
    .finally(() => setTimeout(() => repeat(work), PAUSE_MS));
}
