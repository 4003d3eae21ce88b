// The worker of apps/worker, with the same modules and a provider that responds immediately.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Logger, NestLogger } from '#telemetry/logger.js';
import { ProviderRegistry } from '../dist/apps/worker/src/providers/provider-registry.js';
import { WorkerModule } from '../dist/apps/worker/src/worker.module.js';
import { instantProvider } from './instant-provider.mjs';

const registry = ProviderRegistry.of(new Map([['gpt-image-2', instantProvider]]));
const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(process.env, registry), {
  bufferLogs: true,
});
const logger = app.get(Logger);
app.useLogger(new NestLogger(logger));
app.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
logger.info('worker.started', { pid: process.pid });
